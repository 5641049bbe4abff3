"""The live view: one ROS node that shows a running experiment as a browser page.

`page` opens the page and says who may see it, `policy` names the scripts that run in it, `text` shows text of other
programs; `scene`, `plots`, `parameters`, `clock` and `handle` are its parts and know nothing of ROS services; `node`
joins them to the experiment.
"""

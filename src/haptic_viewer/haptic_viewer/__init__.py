"""The live view: a ROS node that shows a running experiment as a browser page.

`page` opens the page and restricts access, `policy` lists the scripts that run in it, and `text` shows text of other
programs. `scene`, `plots`, `parameters`, `clock` and `handle` are its parts and do not use ROS services. `node`
connects them to the experiment.
"""

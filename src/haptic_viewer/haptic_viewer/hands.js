// Arrow keys and gamepads of this browser, the rumble of the gamepad, and files that are dropped on the page.
(() => {
  "use strict";
  const KEYS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1], PageDown: [2, -1], PageUp: [2, 1]};
  const DEAD = 0.12, PERIOD = 33, RETRY = 2000, RUMBLE = 120, LARGEST = 4e6;
  const pressed = new Set();
  let search = location.search;  // a link with a scene counts once, when the page is opened
  let socket = null, held = false, sent = "", buttons = "";

  const connect = () => {
    socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/hands" + search);
    socket.onopen = () => { sent = search = ""; };
    socket.onclose = () => { held = false; setTimeout(connect, RETRY); };
    socket.onmessage = (event) => {
      const told = JSON.parse(event.data);
      held = told.held;
      if (told.rumble > 0) rumble(told.rumble);
    };
  };

  const pads = () => [...(navigator.getGamepads?.() ?? [])].filter((pad) => pad);

  const rumble = (strength) => {
    for (const pad of pads()) {
      const effect = {duration: RUMBLE, strongMagnitude: strength, weakMagnitude: strength};
      pad.vibrationActuator?.playEffect?.("dual-rumble", effect)?.catch?.(() => {});
    }
  };

  const typing = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target?.tagName) || event.ctrlKey || event.metaKey;

  // while the handle is held the arrows move it, and not the camera
  const onKey = (event) => {
    if (!(event.code in KEYS) || typing(event)) return;
    if (event.type === "keyup") pressed.delete(event.code);
    else pressed.add(event.code);
    if (held) { event.preventDefault(); event.stopImmediatePropagation(); }
  };
  window.addEventListener("keydown", onKey, true);
  window.addEventListener("keyup", onKey, true);
  window.addEventListener("blur", () => pressed.clear());

  const stick = (value) => (Math.abs(value) > DEAD ? value : 0);

  setInterval(() => {
    const axes = [0, 0, 0];
    if (held) for (const code of pressed) axes[KEYS[code][0]] += KEYS[code][1];
    const now = [];
    for (const pad of pads()) {
      axes[0] += stick(pad.axes[0] ?? 0);
      axes[1] -= stick(pad.axes[1] ?? 0);
      axes[2] -= stick(pad.axes[3] ?? 0);
      pad.buttons.forEach((button, number) => { if (button.pressed) now.push(number); });
    }
    const down = now.filter((number) => !buttons.includes(`,${number},`));
    buttons = "," + now.join(",") + ",";
    const state = JSON.stringify({axes: axes.map((value) => Math.max(-1, Math.min(1, value))), buttons: down});
    if (socket?.readyState === WebSocket.OPEN && (state !== sent || down.length)) { socket.send(state); sent = state; }
  }, PERIOD);

  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file && file.size < LARGEST) socket.send(new Blob([file.name.replaceAll("\n", " "), "\n", file]));
  });

  connect();
})();

// A browser starts no worker for a page that was opened from a folder. There, the search of the site runs in a hidden frame
// instead. Zensical would load a script for this from a public server, unless one of its settings names an `iframe-worker`.

// As between a page and a worker, the other side gets a copy, after what runs now has ended.
function deliver(side, data) {
  const copy = structuredClone(data);
  setTimeout(() => side.onmessage?.(new MessageEvent("message", { data: copy })));
}

class FrameWorker {
  constructor(address) {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.frame = frame;
    const inside = frame.contentWindow;
    inside.document.open();
    inside.document.close();
    inside.postMessage = (data) => deliver(this, data);
    this.loaded = new Promise((resolve) => {
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => resolve(inside);
      inside.document.body.append(script);
    });
  }

  postMessage(data) {
    this.loaded.then((inside) => deliver(inside, data));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
}

"use strict";
// Draws the charts of one page: see doc.go for what the data is. All charts of a loop share one axis of time.
(() => {
  const ink = "#1b1b1b", faint = "#5a5a5a", rule = "#e3e3e3";
  const compute = "#0072b2", wait = "#c9c9c9", move = "#d55e00";
  const hues = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b1b1b", "#8a8a8a"]; // Okabe and Ito
  // Cividis, and a scale from blue over white to orange: both can be told apart with any colour vision.
  const ramp = [[0, 32, 77], [45, 67, 109], [92, 92, 110], [124, 123, 120], [166, 157, 117], [211, 193, 100], [255, 234, 70]];
  const around = [[0, 70, 130], [90, 160, 205], [245, 245, 245], [240, 160, 80], [170, 70, 0]];
  const left = 62, right = 78, font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
  const tip = document.getElementById("tip");

  const mix = (stops, x) => {
    const at = Math.max(0, Math.min(1, x)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at)), f = at - i;
    return stops[i].map((v, k) => Math.round(v + f * (stops[i + 1][k] - v)));
  };
  const rgb = c => `rgb(${c[0]},${c[1]},${c[2]})`;
  // Ticks at 1, 2 or 5 times a power of ten.
  const ticks = (from, until, about) => {
    const span = until - from;
    if (!(span > 0)) return [from];
    const raw = span / about, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
    const all = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= until + step * 1e-9; k++) all.push(k * step);
    return all;
  };
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const short = x => {
    if (x === 0) return "0";
    for (const [u, s] of units) if (Math.abs(x) >= u) return +(x / u).toPrecision(3) + s;
    return String(+x.toPrecision(3));
  };
  const percent = x => (100 * x).toFixed(1) + "%";
  const whole = x => +(100 * x).toPrecision(3) + "%";
  const transfers = n => n === 1 ? "1 transfer" : n + " transfers";

  class Loop {
    constructor(section) {
      this.d = JSON.parse(section.querySelector("script.data").textContent);
      const e = this.d.edges;
      this.whole = [e.length ? e[0] : 0, e.length ? e[e.length - 1] : 1];
      this.view = this.whole.slice();
      this.row = Math.max(4, Math.min(22, Math.floor(640 / this.d.ranks)));
      this.charts = [];
      const lines = this.d.ranks <= 8, rows = this.d.ranks * this.row;
      const add = (name, height, draw, say) => this.charts.push(new Chart(this, section.querySelector("canvas." + name), height, draw, say));
      add("rate", lines ? 210 : rows, c => lines ? c.lines(this.d.rate, this.d.rateUnit, short, this.d.low, this.d.high) : c.heat(this.d.rate, v => mix(ramp, v / this.top("rate"))), (c, i, r) => this.sayRates(i, r));
      add("share", lines ? 180 : rows, c => lines ? c.lines(this.d.share, 1e-4, whole) : c.heat(this.d.share, v => mix(around, v * this.d.ranks / 2e4)), (c, i, r) => this.sayRates(i, r));
      add("gantt", rows, c => c.gantt(), (c, i, r) => this.sayTimes(i, r));
      add("decisions", 190, c => c.decisions(), (c, i, r, x, y) => this.sayDecision(c, x));
      this.draw();
    }
    top(name) {
      this.tops ||= {};
      return this.tops[name] ||= this.d[name].reduce((t, row) => row.reduce((a, b) => Math.max(a, b), t), 1);
    }
    draw() { for (const c of this.charts) c.draw(); }
    zoom(from, until) {
      const least = (this.whole[1] - this.whole[0]) * 1e-6;
      this.view = until - from > least ? [Math.max(this.whole[0], from), Math.min(this.whole[1], until)] : this.whole.slice();
      this.draw();
    }
    // The column that holds time t.
    at(t) {
      const e = this.d.edges;
      let lo = 0, hi = e.length - 2;
      while (lo < hi) { const mid = (lo + hi + 1) >> 1; if (e[mid] <= t) lo = mid; else hi = mid - 1; }
      return lo;
    }
    visible() { return this.d.edges.length < 2 ? [0, -1] : [this.at(this.view[0]), this.at(this.view[1])]; }
    name(r) { return "rank " + r + (this.d.hosts ? " on " + this.d.hosts[r] : ""); }
    when(i) {
      const d = this.d, n = d.count[i];
      return `${d.edges[i].toFixed(3)} s to ${d.edges[i + 1].toFixed(3)} s, ` + (n === 0 ? "after the last interaction" : n === 1 ? "one interaction" : n + " interactions");
    }
    sayRates(i, r) {
      const d = this.d, one = k => `${this.name(k)}: ${d.rate[k][i] < 0 ? "no work" : short(d.rate[k][i] * d.rateUnit) + " units/s, " + percent(d.share[k][i] / 1e4) + " of the work"}`;
      const list = d.ranks <= 8 ? d.rate.map((_, k) => one(k)) : [one(r)];
      return this.when(i) + "\n" + list.join("\n");
    }
    sayTimes(i, r) {
      const d = this.d;
      if (d.compute[r][i] < 0) return this.when(i) + "\n" + this.name(r) + ": nothing is known";
      const c = d.compute[r][i] / 1e3, m = Math.max(0, d.move[r][i]) / 1e3;
      return `${this.when(i)}\n${this.name(r)}: computing ${percent(c)}, waiting ${percent(Math.max(0, 1 - c - m))}, moving ${percent(m)}`;
    }
    sayDecision(chart, x) {
      const d = this.d;
      let best = null, near = 14;
      for (const k of d.decisions) { // moves come before the others where both are near
        const away = Math.abs(chart.x(k.t) - x) + (k.n ? 0 : 5);
        if (away < near) { near = away; best = k; }
      }
      if (!best) return "";
      const what = best.n ? `moves ${percent(best.moved)} of the work in ${transfers(best.n)} (${best.between} iterations)` : "nothing moves";
      const pays = best.c || best.b ? `\nmoving costs ${short(best.c)} s and brings ${short(best.b)} s` : "";
      return `interaction ${best.k} at ${best.t.toFixed(3)} s: ${what}\n${d.reasons[best.r]}\nimbalance ${percent(best.i)}, threshold ${percent(best.th)}${pays}\nperiod ${short(best.p)} s, set by: ${d.limits[best.l]}`;
    }
  }

  class Chart {
    constructor(loop, canvas, height, paint, say) {
      Object.assign(this, { loop, canvas, height, paint, say });
      canvas.addEventListener("mousedown", e => { this.from = this.place(e)[0]; this.to = this.from; });
      canvas.addEventListener("mousemove", e => this.hover(e));
      canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
      canvas.addEventListener("dblclick", () => this.loop.zoom(0, 0));
    }
    get ctx() { return this.canvas.getContext("2d"); }
    place(e) { const box = this.canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; }
    x(t) { const [a, b] = this.loop.view; return left + (t - a) / (b - a) * this.wide; }
    t(x) { const [a, b] = this.loop.view; return a + (x - left) / this.wide * (b - a); }
    draw() {
      const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth, h = this.height + 42;
      this.canvas.style.height = h + "px";
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
      this.wide = Math.max(50, w - left - right);
      this.top = 8;
      const g = this.ctx;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.clearRect(0, 0, w, h);
      g.font = font;
      this.axis(g);
      this.clip(g);
      this.paint(this);
      g.restore();
      g.strokeStyle = faint;
      g.lineWidth = 1;
      g.strokeRect(left + .5, this.top + .5, this.wide, this.height);
      if (this.labels) this.labels();
      if (this.from !== undefined && Math.abs(this.to - this.from) > 3) {
        g.fillStyle = "rgba(0,114,178,.18)";
        g.fillRect(Math.min(this.from, this.to), this.top, Math.abs(this.to - this.from), this.height);
      }
    }
    clip(g) { g.save(); g.beginPath(); g.rect(left, this.top, this.wide, this.height); g.clip(); }
    axis(g) {
      const bottom = this.top + this.height;
      g.fillStyle = ink; g.strokeStyle = rule; g.textAlign = "center"; g.textBaseline = "top";
      for (const t of ticks(this.loop.view[0], this.loop.view[1], Math.max(3, this.wide / 90))) {
        const x = Math.round(this.x(t)) + .5;
        g.beginPath(); g.moveTo(x, this.top); g.lineTo(x, bottom + 4); g.stroke();
        g.fillText(String(+t.toPrecision(7)), x, bottom + 6);
      }
      g.fillStyle = faint;
      g.fillText("time since the loop began, s", left + this.wide / 2, bottom + 22);
    }
    // The axis of values from 0 to most, which words writes.
    scale(most, words) {
      const g = this.ctx;
      this.y = v => this.top + this.height * (1 - v / most);
      const list = ticks(0, most, Math.max(2, this.height / 40));
      g.strokeStyle = rule; g.lineWidth = 1;
      for (const v of list) {
        const y = Math.round(this.y(v)) + .5;
        g.beginPath(); g.moveTo(left, y); g.lineTo(left + this.wide, y); g.stroke();
      }
      this.labels = () => {
        g.fillStyle = ink; g.textAlign = "right"; g.textBaseline = "middle";
        for (const v of list) g.fillText(words(v), left - 6, this.y(v));
        if (this.more) this.more(g);
      };
    }
    // A line for each rank, level over each column; low and high as a band.
    lines(values, unit, words, low, high) {
      const { d } = this.loop, [a, b] = this.loop.visible(), g = this.ctx;
      let most = 0;
      for (const row of values) for (let i = a; i <= b; i++) most = Math.max(most, row[i]);
      this.scale(most * unit * 1.06 || 1, words);
      const band = (row, other, colour) => {
        g.fillStyle = colour; g.globalAlpha = .15;
        for (let i = a; i <= b; i++) {
          if (!(row[i] > 0)) continue;
          const x = this.x(d.edges[i]);
          g.fillRect(x, this.y(other[i] * unit), Math.max(.5, this.x(d.edges[i + 1]) - x), (other[i] - row[i]) / (most * 1.06) * this.height);
        }
        g.globalAlpha = 1;
      };
      const ends = [];
      values.forEach((row, r) => {
        if (low) band(low[r], high[r], hues[r]);
        g.strokeStyle = hues[r]; g.lineWidth = 1.8; g.beginPath();
        let drawing = false, last = -1;
        for (let i = a; i <= b; i++) {
          if (row[i] < 0) { drawing = false; continue; }
          const y = this.y(row[i] * unit), x = this.x(d.edges[i]);
          if (drawing) g.lineTo(x, y); else g.moveTo(x, y);
          g.lineTo(this.x(d.edges[i + 1]), y);
          drawing = true; last = y;
        }
        g.stroke();
        if (last >= 0) ends.push({ y: last, r });
      });
      // Names at the right end, pushed apart where they would lie on each other.
      ends.sort((p, q) => p.y - q.y);
      for (let i = 0; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, i ? ends[i - 1].y + 13 : this.top + 5);
      for (let i = ends.length - 1, floor = this.top + this.height - 5; i >= 0; i--) { ends[i].y = Math.min(ends[i].y, floor); floor = ends[i].y - 13; }
      this.more = g => {
        g.textAlign = "left"; g.textBaseline = "middle";
        for (const e of ends) {
          g.fillStyle = hues[e.r]; g.fillRect(left + this.wide + 5, e.y - 1.5, 12, 3);
          g.fillStyle = ink; g.fillText("rank " + e.r, left + this.wide + 21, e.y);
        }
      };
    }
    // Names of the rows at the left.
    rows() {
      const g = this.ctx, { row, d } = this.loop, every = Math.ceil(13 / row);
      this.labels = () => {
        g.fillStyle = ink; g.textAlign = "right"; g.textBaseline = "middle";
        for (let r = 0; r < d.ranks; r += every) g.fillText((r === 0 || d.ranks <= 8 ? "rank " : "") + r, left - 6, this.top + (r + .5) * row);
        if (this.more) this.more(g);
      };
    }
    // A row of colour for each rank: one pixel for each pixel of the screen, of the column that is there.
    heat(values, colour) {
      const { loop } = this, { d, row } = loop, g = this.ctx, n = Math.max(1, Math.round(this.wide));
      this.rows();
      if (d.edges.length < 2) return;
      const image = new ImageData(n, d.ranks), at = new Int32Array(n), known = new Map();
      for (let p = 0; p < n; p++) at[p] = loop.at(this.t(left + p + .5));
      for (let r = 0; r < d.ranks; r++) for (let p = 0; p < n; p++) {
        const v = values[r][at[p]];
        if (v < 0) continue;
        let c = known.get(v);
        if (!c) known.set(v, c = colour(v));
        image.data.set([c[0], c[1], c[2], 255], 4 * (r * n + p));
      }
      const buffer = document.createElement("canvas");
      buffer.width = n; buffer.height = d.ranks;
      buffer.getContext("2d").putImageData(image, 0, 0);
      g.imageSmoothingEnabled = false;
      g.drawImage(buffer, left, this.top, this.wide, d.ranks * row);
      const rates = values === d.rate, most = rates ? loop.top("rate") : 2e4 / d.ranks;
      this.more = g => {
        const h = Math.min(150, this.height), x = left + this.wide + 10;
        for (let k = 0; k < h; k++) { g.fillStyle = rgb(colour(most * (1 - k / h))); g.fillRect(x, this.top + k, 12, 1.5); }
        g.fillStyle = ink; g.textAlign = "left"; g.textBaseline = "middle";
        for (const f of [0, .5, 1]) g.fillText(rates ? short(f * most * d.rateUnit) : (f === 1 ? "≥ " : "") + 2 * f + "x", x + 16, this.top + Math.max(6, Math.min(h - 4, h * (1 - f))));
      };
    }
    // Computing, waiting and moving, one behind the other, in each column that is wide enough, or in several together.
    gantt() {
      const { loop } = this, { d, row } = loop, g = this.ctx, [a, b] = loop.visible(), gap = row > 8 ? 2 : row > 5 ? 1 : 0;
      this.rows();
      for (let r = 0; r < d.ranks; r++) {
        const y = this.top + r * row + gap / 2, h = row - gap;
        let from = 0, c = 0, m = 0, known = 0;
        for (let i = a; i <= b; i++) {
          if (known === 0) from = d.edges[i];
          const long = d.edges[i + 1] - d.edges[i], unknown = d.compute[r][i] < 0;
          if (!unknown) { known += long; c += long * d.compute[r][i] / 1e3; m += long * Math.max(0, d.move[r][i]) / 1e3; }
          const x = this.x(from), w = this.x(d.edges[i + 1]) - x;
          if (known === 0 || w < 6 && i < b) continue;
          const wc = w * Math.min(1, c / known), wm = Math.min(w - wc, w * m / known);
          g.fillStyle = wait; g.fillRect(x, y, w, h);
          g.fillStyle = compute; g.fillRect(x, y, wc, h);
          if (wm > 0) { g.fillStyle = move; g.fillRect(x + w - wm, y, Math.max(wm, .75), h); }
          c = m = known = 0;
        }
      }
      this.more = null;
    }
    decisions() {
      const { loop } = this, { d } = loop, g = this.ctx, [a, b] = loop.visible(), [from, until] = loop.view;
      const shown = d.decisions.filter(k => k.t >= from && k.t <= until);
      let most = 0;
      for (let i = a; i <= b; i++) most = Math.max(most, d.imbalance[i] / 1e4, d.threshold[i] / 1e4);
      for (const k of shown) most = Math.max(most, Math.min(1, k.moved));
      this.scale(Math.min(1.05, most * 1.1) || 1, whole);
      const floor = this.top + this.height;
      for (const k of shown) {
        const x = this.x(k.t);
        if (k.n) { g.fillStyle = move; const y = Math.min(this.y(k.moved), floor - 5); g.fillRect(x - 1.5, y, 3, floor - y); }
        else { g.fillStyle = "#9a9a9a"; g.beginPath(); g.arc(x, floor - 3, 2, 0, 7); g.fill(); }
      }
      const line = (values, colour, dash) => {
        g.strokeStyle = colour; g.lineWidth = 1.6; g.setLineDash(dash); g.beginPath();
        let drawing = false;
        for (let i = a; i <= b; i++) {
          if (values[i] < 0) { drawing = false; continue; }
          const y = this.y(values[i] / 1e4);
          if (drawing) g.lineTo(this.x(d.edges[i]), y); else g.moveTo(this.x(d.edges[i]), y);
          g.lineTo(this.x(d.edges[i + 1]), y);
          drawing = true;
        }
        g.stroke(); g.setLineDash([]);
      };
      line(d.threshold, faint, [5, 4]);
      line(d.imbalance, ink, []);
      if (!d.decisions.length) { g.fillStyle = faint; g.textAlign = "center"; g.fillText("no interactions: balancing was off, or there was nothing to balance", left + this.wide / 2, this.top + this.height / 2); }
    }
    hover(e) {
      const [x, y] = this.place(e);
      if (this.from !== undefined && e.buttons & 1) { this.to = x; this.draw(); }
      const inside = x >= left && x <= left + this.wide && y >= this.top && y <= this.top + this.height;
      if (!inside || this.loop.d.edges.length < 2) { tip.hidden = true; return; }
      const r = Math.min(this.loop.d.ranks - 1, Math.floor((y - this.top) / this.loop.row));
      const text = this.say(this, this.loop.at(this.t(x)), Math.max(0, r), x, y);
      tip.hidden = !text;
      if (!text) return;
      tip.textContent = text;
      tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = (e.clientY + 18 + tip.offsetHeight > innerHeight ? Math.max(4, e.clientY - tip.offsetHeight - 12) : e.clientY + 18) + "px";
    }
    // The end of a drag that began here.
    drop() {
      if (this.from === undefined) return;
      const [a, b] = [this.from, this.to].sort((p, q) => p - q);
      this.from = this.to = undefined;
      if (b - a > 5) this.loop.zoom(this.t(Math.max(a, left)), this.t(Math.min(b, left + this.wide)));
      else this.draw();
    }
  }

  const loops = [...document.querySelectorAll("section.loop")].map(s => new Loop(s));
  addEventListener("mouseup", () => loops.forEach(l => l.charts.forEach(c => c.drop())));
  addEventListener("resize", () => loops.forEach(l => l.draw()));
  window.shiftwork = loops; // for those who look deeper, and for tests
})();

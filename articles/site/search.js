// Finds articles in the list that search-index.js holds; works from the file system, without a server.
"use strict";
(() => {
  const umlauts = { "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss" };
  const fold = (text) => text.toLowerCase().replace(/[äöüß]/g, (letter) => umlauts[letter])
    .normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
  const entries = SEARCH_INDEX.map((entry) => ({ file: entry.file, title: fold(entry.title), text: fold(entry.text) }));
  const list = document.getElementById("articles");
  const items = new Map([...list.children].map((item) => [item.dataset.file, item]));
  const order = [...list.children];
  const count = document.getElementById("count");

  // Every word of the query must occur; one at the start of a word, or in the title, says more.
  const score = (entry, words) => words.reduce((total, word) => {
    if (total < 0 || !(entry.text.includes(word) || entry.title.includes(word))) return -1;
    return total + 1 + (entry.title.includes(word) ? 8 : 0) + ((" " + entry.text).includes(" " + word) ? 2 : 0);
  }, 0);

  const search = () => {
    const words = fold(document.getElementById("query").value).split(/\s+/).filter(Boolean);
    const found = entries.map((entry) => [score(entry, words), entry.file]).filter(([points]) => points >= 0);
    found.sort((a, b) => b[0] - a[0] || order.indexOf(items.get(a[1])) - order.indexOf(items.get(b[1])));
    list.replaceChildren(...found.map(([, file]) => items.get(file)));
    count.textContent = !words.length ? "" : found.length ? count.dataset.some.replace("{n}", found.length) : count.dataset.none;
  };
  document.getElementById("query").addEventListener("input", search);
  search();
})();

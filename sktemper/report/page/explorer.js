"use strict";
/* Script of the page: shows the chosen topic in all sections. Texts and words are only
   inserted as text nodes, so that the browser does not interpret markup in them. */
(async () => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const figures = JSON.parse(document.getElementById("report-figures").textContent);
  const at = (id) => document.getElementById(id);
  const bySize = data.prevalence.map((_, k) => k)
    .sort((a, b) => data.prevalence[b] - data.prevalence[a] || a - b);
  // light colours, readable under black letters, which colour-blind people can distinguish;
  // all other topics are grey
  const TINTS = ["#a9d8f7", "#a5dcc8", "#f0ea9c", "#e3bcd8", "#f7bfa0", "#b4c4e8"];
  const CHOSEN = "#ffd08a", OTHERS = "#e2e2e2";
  const MOST_FOUND = 12;

  let chosen = bySize[0];
  let searched = "";
  let source = null; // data source of the map
  let line = null; // data source of the plot of prevalence over dates

  /* -- helper functions ------------------------------------------------------------ */

  const percent = (share) =>
    (100 * share).toFixed(share < 0.001 ? 3 : share < 0.01 ? 2 : 1) + " %";
  const many = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;
  const nameOf = (k) => `${data.numbers[k]}: ${data.labels[k]}`;

  function element(tag, text = "", attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  function button(text, action, label) {
    const made = element("button", text, { type: "button" });
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  }

  function row(...cells) {
    const made = element("tr");
    made.append(...cells);
    return made;
  }

  function bar(share, largest) {
    const cell = element("td", "", { class: "bar", "aria-hidden": "true" });
    const inner = element("span");
    inner.style.width = `${largest > 0 ? (100 * share) / largest : 0}%`;
    cell.append(inner);
    return cell;
  }

  /* Returns flattened tuples of n values as a list of tuples. */
  function inTurns(list, n) {
    const rows = [];
    for (let i = 0; i < list.length; i += n) rows.push(list.slice(i, i + n));
    return rows;
  }

  /* -- the chosen topic ------------------------------------------------------------ */

  function choose(k) {
    chosen = k;
    at("topics").value = String(k);
    if (source && source.selected.indices.join() !== String(k)) source.selected.indices = [k];
    at("words-heading").textContent = `Topic ${nameOf(k)}`;
    at("status").textContent =
      `Topic ${data.numbers[k]} is chosen: ${percent(data.prevalence[k])} of the tokens, the largest ` +
      `topic of ${many(data.n_largest[k], "document")}, coherence ${data.coherence[k]}${data.recurrence ? `, returns in ${percent(data.recurrence[k])} of fits to other documents` : ""}.`;
    showWords();
    showDocuments();
    showDates();
    showGroups();
  }

  function showWords() {
    const relevance = Number(at("relevance").value);
    const rankBy = at("ranking").value;
    at("lambda").textContent = relevance.toFixed(2);
    at("relevance").disabled = rankBy !== "relevance";
    const score = {
      term_score: (word, weight, lift, termScore) => termScore,
      relevance: (word, weight, lift) => relevance * weight + (1 - relevance) * lift,
      class_tfidf: tfidf,
    }[rankBy];
    const ranked = inTurns(data.words_of_topics[chosen], 4)
      .map((entry) => [score(...entry), ...entry])
      .sort((a, b) => b[0] - a[0] || b[2] - a[2])
      .slice(0, data.n_words);
    const largest = Math.exp(Math.max(...ranked.map((entry) => entry[2])));
    at("word-rows").replaceChildren(...ranked.map(([, word, weight, lift]) => {
      const name = element("td");
      name.append(button(data.words[word], () => search(data.words[word])));
      const share = Math.exp(weight);
      const times = Math.exp(lift);
      return row(
        name,
        bar(share, largest),
        element("td", percent(share), { class: "number" }),
        element("td", `${times.toPrecision(times < 100 ? 2 : 3)}×`, { class: "number" }),
        element("td", tfidf(word, weight).toPrecision(2), { class: "number" }),
      );
    }));
  }

  /* Returns the class TF-IDF of a word, from its log share of the topic. */
  function tfidf(word, weight) {
    const mean = data.n_tokens / data.prevalence.length;
    return Math.exp(weight) * Math.log1p(mean / Math.max(data.counts[word], 1));
  }

  /* -- documents ------------------------------------------------------------------- */

  /* Returns colours of the chosen topic and of the largest topics of the shown documents. */
  function tintsOf(shown) {
    const counts = new Map();
    for (const { topics } of shown) {
      for (const [k, weight] of topics) counts.set(k, (counts.get(k) || 0) + weight);
    }
    counts.delete(chosen);
    const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const tints = new Map(order.slice(0, TINTS.length).map((k, place) => [k, TINTS[place]]));
    return tints.set(chosen, CHOSEN);
  }

  function showDocuments() {
    const shown = data.documents_of_topics[chosen].map((place) => data.documents[place]);
    const tints = tintsOf(shown);
    at("documents-heading").textContent = `Documents with the most of topic ${nameOf(chosen)}`;
    at("documents-note").textContent =
      `${shown.length} of ${many(data.n_documents, "document")} are shown for this topic, ` +
      `${data.documents.length.toLocaleString("en")} in the whole page. ` +
      (data.has_texts ? "" : "No texts were given: a document's words are shown, most informative first. ") +
      "Colour shows a word's most likely topic (stronger is more certain); words of the selected topic are underlined.";
    at("document-list").replaceChildren(...shown.map((one) => documentOf(one, tints)));
  }

  function documentOf(one, tints) {
    const made = element("article");
    const heading = element("h3", one.name === null ? `Document ${one.row}` : one.name);
    const length = one.shown === one.of ? "" : data.has_texts
      ? `, the first ${many(one.shown, "character")} of ${one.of.toLocaleString("en")}`
      : `, ${many(one.shown, "word")} of ${one.of.toLocaleString("en")}`;
    const row = one.name === null ? "" : ` row ${one.row},`;
    heading.append(element("span", `${row} ${many(one.n_tokens, "token")}${length}`));
    const mix = element("p", "", { class: "mix" });
    for (const [k, weight] of one.topics) {
      const chip = button(`${nameOf(k)} ${weight} %`, () => choose(k));
      chip.style.setProperty("--tint", tints.get(k) || OTHERS);
      mix.append(chip);
    }
    const text = element("p", "", { class: "text" });
    text.append(...one.pieces.map((piece) => pieceOf(piece, tints)));
    if (one.shown < one.of) text.append(" …");
    made.append(heading, mix, text);
    return made;
  }

  function pieceOf(piece, tints) {
    if (typeof piece === "string") return document.createTextNode(piece);
    const [word, k, sure] = piece;
    const made = element(k === chosen ? "mark" : "span", word, { title: `${nameOf(k)}, ${sure} %` });
    made.style.setProperty("--tint", tints.get(k) || OTHERS);
    made.style.setProperty("--sure", `${sure}%`);
    const name = data.has_texts ? word : word.replace(/ ×\S+$/, ""); // without its count
    if (searched && name.toLowerCase() === searched) made.classList.add("searched");
    return made;
  }

  /* -- prevalence ------------------------------------------------------------------ */

  function showDates() {
    if (data.dates === null) return;
    const { places, labels, shares, are_dates } = data.dates;
    at("dates").hidden = false;
    at("dates-heading").textContent =
      `Topic ${nameOf(chosen)} over ${are_dates ? "time" : "the given numbers"}`;
    at("dates-figure").setAttribute("aria-label",
      `Share of the tokens of topic ${chosen}, other topics in grey; the table below has the same numbers`);
    if (line) line.data = { x: places, y: shares[chosen] };
    at("date-rows").replaceChildren(...labels.map((label, i) => row(
      element("td", label), element("td", percent(shares[chosen][i]), { class: "number" }))));
  }

  function showGroups() {
    if (data.groups === null) return;
    const { names, n_tokens, n_groups, shares } = data.groups;
    const largest = Math.max(...shares[chosen]);
    at("groups").hidden = false;
    at("groups-heading").textContent = `Topic ${nameOf(chosen)} by group`;
    at("groups-note").textContent = names.length < n_groups
      ? `The ${names.length} groups with the most tokens of ${n_groups.toLocaleString("en")} are shown.`
      : "";
    at("group-rows").replaceChildren(...names.map((name, i) => row(
      element("td", name),
      bar(shares[chosen][i], largest),
      element("td", percent(shares[chosen][i]), { class: "number" }),
      element("td", n_tokens[i].toLocaleString("en"), { class: "number" }))));
  }

  /* -- search ---------------------------------------------------------------------- */

  function search(query) {
    at("search").value = query;
    searched = query.trim().toLowerCase();
    const exact = searched === "" ? -1 : data.words.findIndex((w) => w.toLowerCase() === searched);
    const parts = [];
    if (exact >= 0) parts.push(...topicsOfWord(exact));
    if (searched !== "") parts.push(...wordsLike(exact));
    at("found").replaceChildren(...parts);
    shade(exact);
    showDocuments();
  }

  function topicsOfWord(word) {
    const topics = inTurns(data.topics_of_words[word], 2);
    const name = data.words[word];
    return [
      element("p", `“${name}” occurs ${many(data.counts[word], "time")}. ` +
        "Share of each topic in the occurrences of the word (darker circles have more):"),
      ...topics.map(([k, share]) => button(
        `${nameOf(k)} ${Math.round(share / 10)} %`, () => choose(k))),
    ];
  }

  function wordsLike(exact) {
    const like = data.words.map((_, v) => v)
      .filter((v) => v !== exact && data.words[v].toLowerCase().includes(searched))
      .sort((a, b) => data.counts[b] - data.counts[a]);
    const known = data.words.length < data.n_features
      ? ` The search finds only ${data.words.length.toLocaleString("en")} of ${many(data.n_features, "word")}.` : "";
    if (like.length === 0) {
      return exact >= 0 ? [] : [element("p", `No word contains “${searched}”.${known}`)];
    }
    const shown = like.slice(0, MOST_FOUND);
    const which = shown.length < like.length ? `${shown.length} of ${like.length} words` : many(like.length, "word");
    return [
      element("p", `${which} with “${searched}” in ${like.length === 1 ? "it" : "them"}:`),
      ...shown.map((v) => button(data.words[v], () => search(data.words[v]))),
    ];
  }

  /* Fills the circle of a topic more strongly, the larger its share in the word is. */
  function shade(word) {
    if (!source) return;
    const strength = data.prevalence.map(() => (word < 0 ? 0.6 : 0.05));
    const topics = word < 0 ? [] : inTurns(data.topics_of_words[word], 2);
    for (const [k, share] of topics) strength[k] = 0.05 + (0.95 * share) / topics[0][1];
    source.data = { ...source.data, strength };
  }

  /* -- initialization -------------------------------------------------------------- */

  const list = at("topics");
  list.append(...bySize.map((k) => element(
    "option", `${nameOf(k)} (${percent(data.prevalence[k])})`,
    { value: String(k), title: nameOf(k) })));
  list.size = Math.max(2, Math.min(bySize.length, list.size)); // with size 1 it would be a menu
  list.addEventListener("change", () => choose(Number(list.value)));
  at("relevance").addEventListener("input", showWords);
  at("ranking").value = data.rank_by;
  at("ranking").addEventListener("change", showWords);
  at("search").addEventListener("input", (event) => search(event.target.value));
  at("summary").textContent =
    `${many(data.prevalence.length, "topic")} of ${many(data.n_documents, "document")}, ` +
    `${many(data.n_tokens, "token")} of ${many(data.n_features, "word")}.`;
  choose(chosen);
  for (const [id, item] of Object.entries(figures)) await Bokeh.embed.embed_item(item, id);
  const named = (name) => Bokeh.documents.map((d) => d.get_model_by_name(name)).find((m) => m) || null;
  source = named("topics");
  line = named("line");
  source.selected.properties.indices.change.connect(() => {
    const [k] = source.selected.indices;
    if (k === undefined) source.selected.indices = [chosen]; // the click hit no circle
    else if (k !== chosen) choose(k);
  });
  choose(chosen);
  document.documentElement.dataset.ready = "true";
})();

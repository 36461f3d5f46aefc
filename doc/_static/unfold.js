// A link to a method opens its description.
function unfold() {
  const name = document.getElementById(location.hash.slice(1));
  const details = name?.nextElementSibling?.querySelector("details");
  if (details) details.open = true;
}
addEventListener("DOMContentLoaded", unfold);
addEventListener("hashchange", unfold);

// SPDX-License-Identifier: Apache-2.0
// Exchanges the token for a session. The token itself is not stored.
const session = (() => {
  "use strict";
  const meta = document.querySelector('meta[name="querytape-word"]');
  let word = meta && meta.content;
  const begin = async (token) => {
    const answer = await fetch("/session", { method: "POST", headers: { Authorization: "Bearer " + token } });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    word = said.word;
  };
  // Sends a request that changes something.
  const send = async (url, method, what) => {
    const answer = await fetch(url, {
      method, headers: { "Content-Type": "application/json", "X-Querytape-Word": word || "" }, body: what && JSON.stringify(what),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  };
  const form = document.getElementById("token-form");
  if (form) form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = document.getElementById("token"), said = document.getElementById("token-said");
    said.textContent = "";
    try {
      await begin(field.value.trim());
      field.value = "";
      location.reload();
    } catch (error) { said.textContent = error.message; }
  });
  return { send, known: () => Boolean(word) };
})();
document.documentElement.dataset.ready = "1";

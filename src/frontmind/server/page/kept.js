/** What the browser keeps. One that keeps nothing, by its settings or because it is full, is no fault. */

let owner = "";

/** @param {string} person whose words are read and kept from now on */
export const keepFor = (person) => { owner = encodeURIComponent(person); };

/** @template T @param {() => T} work */
function tried(work) {
  try {
    return work();
  } catch {
    return null;
  }
}

/** @param {() => Storage} storage @param {string} name @param {string | null} [value] */
const kept = (storage, name, value) => tried(() => value === undefined ? storage().getItem(name)
  : value === null ? storage().removeItem(name) : storage().setItem(name, value)) ?? null;

/** What the person writes, until the tab is closed: read, or kept with a value, or dropped with null.
 * @param {string} name @param {string | null} [value] */
export const words = (name, value) => kept(() => sessionStorage, `frontmind/${owner}/${name}`, value);

/** How the page looks. @param {string} name @param {string} [value] */
export const look = (name, value) => kept(() => localStorage, `frontmind/${name}`, value);

/** Whoever uses this tab next finds nothing. */
export const dropWords = () => tried(() => sessionStorage.clear());

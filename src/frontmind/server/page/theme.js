/** Puts the theme that was chosen in place before the first paint; without a choice the system's is used. */
try {
  document.documentElement.dataset.theme = localStorage.getItem("frontmind/theme") ?? "";
} catch {
  // The browser keeps nothing.
}

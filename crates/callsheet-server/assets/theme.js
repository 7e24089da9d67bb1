/* The theme that the reader chose, before the page is drawn. */
(() => {
  let theme = null;
  try { theme = localStorage.getItem("callsheet.theme"); } catch { /* Storage is off: the system decides. */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();

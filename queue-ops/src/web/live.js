// Reads the page again after each sample. Without script, the page shows what it was when it was asked for.
const own = document.currentScript;
const events = new EventSource(own.dataset.events);
let reading = false;
const all = selector => [...document.querySelectorAll(selector)];
// A form that somebody fills in stays as it is.
const isInUse = () => document.querySelector('main :focus')
  || all('main input, main textarea').some(field => field.type !== 'hidden' && field.value !== field.defaultValue);
// What is open stays open, and a table that was scrolled stays where it is.
const opened = () => all('main details[open] > summary').map(summary => summary.textContent);
const scrolled = () => all('main .scroll').map(box => box.scrollLeft);
const replace = main => {
  const [open, lefts] = [opened(), scrolled()];
  document.querySelector('main').replaceWith(main);
  for (const summary of all('main summary'))
    if (open.includes(summary.textContent)) summary.parentElement.open = true;
  all('main .scroll').forEach((box, nth) => { box.scrollLeft = lefts[nth] ?? 0; });
};
events.onmessage = async () => {
  if (reading || document.hidden || isInUse()) return;
  reading = true;
  try {
    const response = await fetch(location.href);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    const main = fresh.querySelector('main');
    if (main && !isInUse()) replace(main);
  } finally {
    reading = false;
  }
};

// Reads the page again after each sample. Without script, the page shows what it was when it was asked for.
const own = document.currentScript;
const events = new EventSource(own.dataset.events);
let reading = false;
events.onmessage = async () => {
  if (reading || document.hidden || document.querySelector('main :focus')) return;
  reading = true;
  try {
    const response = await fetch(location.href);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    const main = fresh.querySelector('main');
    if (main) document.querySelector('main').replaceWith(main);
  } finally {
    reading = false;
  }
};

// Chooses the page that is shown, and handles keys.

const app = { run: null, other: null, view: null, opening: null };

async function begin() {
  app.run = await Run.of(await blocks.json('run'), '');
  if (document.getElementById('block-other')) app.other = await Run.of(await blocks.json('other'), 'other-');
  document.getElementById('title').textContent = visible(app.other ? `${app.run.name} and ${app.other.name}` : app.run.name);
  document.getElementById('compare-link').hidden = !app.other;
  addEventListener('hashchange', show);
  addEventListener('keydown', onKeyDown);
  const help = document.getElementById('help');
  document.getElementById('help-button').addEventListener('click', () => help.showModal());
  await show();
  live.follow(async () => {
    const data = await blocks.json('run');
    updateList(app.run, data, await indexTrials(data));
    await (app.view ?? app.opening)?.refresh?.();
  });
}

async function show() {
  const main = document.getElementById('main');
  const [path, query] = (location.hash.slice(1) || '/').split('?');
  const [, page, name, attempt] = path.split('/');
  app.view = null;
  app.opening = null;
  main.replaceChildren();
  main.classList.remove('fixed');
  main.scrollTop = 0;
  mark(page === 'trial' ? 'trials' : page || 'overview');
  try {
    if (page === 'trials') app.view = trialsPage(main, new URLSearchParams(query));
    else if (page === 'compare') await comparePage(main);
    else if (page === 'trial') await showTrial(main, name, attempt);
    else {
      app.view = overviewPage(main);
      await app.view.refresh();
    }
  } catch (error) {
    if (!(error instanceof Cancelled)) main.append(errorBox(error));
  }
}

async function showTrial(main, name, attempt) {
  const run = name.startsWith('other-') ? app.other : app.run;
  const index = run?.byKey.get(`${name.replace('other-', '')} ${attempt}`);
  if (index === undefined) {
    main.append(make('p', { class: 'empty', text: 'This report has no such trial.' }));
    return;
  }
  const { hash } = location;
  const view = await trialPage(main, run, index);
  if (location.hash === hash) app.view = view;
}

function mark(page) {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page === page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function onKeyDown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('help').open) return;
  const typing = event.target.matches('input, select, textarea');
  if (event.key === 'Escape') {
    if (typing) event.target.blur();
    else if (location.hash.startsWith('#/trial/')) location.hash = '#/trials';
    return;
  }
  if (typing) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

const KEYS = {
  '/': () => document.getElementById('search')?.focus(),
  '?': () => document.getElementById('help').showModal(),
  'g': () => { location.hash = '#/'; },
  't': () => { location.hash = '#/trials'; },
  'c': () => { location.hash = '#/compare'; },
  'f': () => (app.view ?? app.opening)?.nextFault?.(),
  'n': () => openNeighbour(1),
  'p': () => openNeighbour(-1),
  'j': () => move(1),
  'k': () => move(-1),
};

/** Opens the next or the previous trial of the list. */
function openNeighbour(step) {
  const { view } = app;
  if (!(view instanceof TrialView) || view.run !== app.run) return;
  const order = listed.indexes.length ? listed.indexes : [...Array(app.run.length).keys()];
  const at = order.indexOf(view.index) + step;
  if (at < 0 || at >= order.length) return;
  listed.cursor = at;
  location.hash = app.run.link(order[at]);
}

/** Moves the cursor in the list of the page, wherever the focus is. */
function move(step) {
  const rows = (app.view ?? app.opening)?.sequence?.rows;
  if (rows) rows.go(Math.max(0, rows.cursor + step));
}

begin().catch((error) => {
  document.getElementById('main').replaceChildren(errorBox(error));
});

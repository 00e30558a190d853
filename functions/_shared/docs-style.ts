/** How the reference page looks. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #343a44); --soft: light-dark(#f5f6f8, #1d2127);
  --text: light-dark(#1b1f24, #e4e7eb); --dim: light-dark(#5d6672, #9aa4b2); --link: light-dark(#0b57d0, #8ab4f8); }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: light-dark(#fff, #14171b);
  display: grid; grid-template-columns: 290px minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 20px; border-right: 1px solid var(--line); font-size: 13px; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: 3px 0; color: inherit; text-decoration: none; }
nav li a:hover { color: var(--link); }
nav h3 { margin: 18px 0 4px; font-size: 12px; text-transform: uppercase; letter-spacing: .06em; }
nav h3 a { color: var(--dim); text-decoration: none; }
.home { font-weight: 600; color: inherit; text-decoration: none; }
main { padding: 24px 40px 80px; max-width: 1000px; }
h2 { margin-top: 56px; text-transform: capitalize; border-bottom: 1px solid var(--line); padding-bottom: 6px; }
h4 { margin: 18px 0 6px; }
section { padding: 8px 0 20px; border-bottom: 1px solid var(--line); }
section:target > h3 { color: var(--link); }
a { color: var(--link); }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
code { background: var(--soft); padding: 1px 4px; border-radius: 4px; }
pre { background: var(--soft); padding: 12px; border-radius: 6px; overflow: auto; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: 6px 10px 6px 0; vertical-align: top; }
td:first-child { width: 210px; }
td p { margin: 2px 0; color: var(--dim); }
.fields .fields { margin-top: 4px; }
.option { border-left: 3px solid var(--line); padding-left: 12px; margin: 8px 0; }
.type { color: var(--dim); }
small { color: var(--dim); }
details { margin: 4px 0; }
summary { cursor: pointer; }
.answer { border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; }
.GET, .POST, .PUT, .PATCH, .DELETE { font: 600 11px ui-monospace, monospace; }
.GET, .good { color: light-dark(#0a7a3d, #5bd48a); } .POST { color: light-dark(#0b57d0, #8ab4f8); }
.PUT, .PATCH { color: light-dark(#9a5b00, #f0b45b); } .DELETE, .bad { color: light-dark(#b3261e, #f28b82); }
@media (max-width: 800px) {
  body { display: block; overflow-wrap: anywhere; } nav { position: static; height: auto; } main { padding: 16px; }
  table, tbody, tr, td { display: block; } td:first-child { width: auto; padding-bottom: 0; } td + td { border-top: 0; padding: 0 0 6px 12px; }
}
`;

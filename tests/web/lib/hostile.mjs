/* What a hostile page might make a model write: markup, links, tables and formulas that would run hit() or ask far.example for
 * something, if anything of them were taken for more than text. */

import { ref } from './browser.mjs';

const FAR = 'http://far.example';
const payloads = [
    '<script>hit()</script>', '<ScRiPt src="//far.example/x.js"></sCrIpT>', '<img src=x onerror=hit()>', '<img src="//far.example/i.png">',
    '<svg onload=hit()>', '<svg><script>hit()</script></svg>', '<svg><animate onbegin=hit() attributeName=x dur=1s>',
    '<math><mtext><table><mglyph><style><img src=x onerror=hit()>', '<iframe src="javascript:parent.hit()"></iframe>',
    `<iframe src="${FAR}/"></iframe>`, '<iframe srcdoc="<script>parent.hit()</script>"></iframe>', '<object data="javascript:hit()"></object>',
    '<embed src="javascript:hit()">', `<link rel=stylesheet href="${FAR}/a.css">`, '<style>@import "//far.example/b.css";</style>',
    '<style>*{background:url(//far.example/c.png)}</style>', `<meta http-equiv=refresh content="0;url=${FAR}/">`, `<base href="${FAR}/">`,
    `<form action="${FAR}/"><button autofocus onfocus=hit()>x</button></form>`, '<input autofocus onfocus=hit()>', '<video src=x onerror=hit()></video>',
    '<audio src="//far.example/a.mp3" autoplay></audio>', '<details open ontoggle=hit()>x</details>', '<body onload=hit()>',
    '<p style="background:url(//far.example/d.png)">x</p>', '<a href="javascript:hit()">x</a>', '[click](javascript:hit())',
    `[x](${FAR}/)`, `![x](${FAR}/pic.png)`, '![x](x" onerror="hit())', `<${FAR}/auto>`, `[ref]\n\n[ref]: javascript:hit()`,
    '`</code><script>hit()</script>`', '```\n</code></pre><script>hit()</script>\n```', '&lt;script&gt;hit()&lt;/script&gt;',
    '<!--><script>hit()</script>-->', '<![CDATA[><script>hit()</script>]]>', '<noscript><p title="</noscript><img src=x onerror=hit()>">',
    '<template><script>hit()</script></template>', '<a id=defaultView name=documentElement>clobber</a>', '<td onclick=hit() rowspan=9999>x',
];
const formulas = ['\\href{javascript:hit()}{x}', `\\url{${FAR}/}`, `\\includegraphics{${FAR}/f.png}`, '\\class{evil}{x}', '\\style{color:red}{x}',
    '\\text{<img src=x onerror=hit()>}', '\\htmlData{x=<script>hit()</script>}{x}', '\\def\\a{\\a\\a}\\a', '\\color{url(//far.example/e.png)}x'];
const table = `<table><tr><td onmouseover=hit()>${payloads[0]}</td><td><img src=x onerror=hit()></td></tr></td><iframe src="javascript:hit()">` +
    '<tr><td rowspan="3" colspan="999999" style="background:url(//far.example/g.png)">x</td></tr></table>';

export const NAME = '<img src=x onerror=hit()>"\'&.pdf';

const block = (label, i, body) => ref(label, [50, 10 + i % 900, 900, 40 + i % 900], body);
export const pages = [
    { page: 1, text: payloads.map((p, i) => block('text', i * 20, p)).join('\n\n') },
    { page: 2, text: payloads.slice(0, 20).map((p, i) => block('title', i * 40, `# ${p}`)).join('\n\n') },
    { page: 3, text: [block('table', 1, table), ...payloads.slice(0, 20).map((p, i) => block('table', 40 * i, `<table><tr><td>${p}</td></tr></table>`))].join('\n\n') },
    { page: 4, text: formulas.flatMap((f, i) => [block('equation', 40 * i, `\\[ ${f} \\]`), block('text', 40 * i, `inline \\( ${f} \\) here`)]).join('\n\n') },
    { page: 5, text: `<|ref|><script>hit()</script><|/ref|><|det|>[[hit(),1,2,3]]<|/det|>\n${payloads[2]}\n\n<|ref|>image<|/ref|><|det|>[[1, 2, 3, "<b>"]]<|/det|>` },
];

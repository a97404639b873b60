/* A PDF with so many pages of large Helvetica, made here: pages = [[line, ...], ...], lines in Latin letters. */

export function pdf(pages, { width = 420, height = 595 } = {}) {
    const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '', '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'];
    const kids = pages.map(lines => {
        const text = lines.map((line, i) => `BT /F1 24 Tf 40 ${height - 70 - 40 * i} Td (${line.replace(/[\\()]/g, '\\$&')}) Tj ET`).join('\n');
        objects.push(`<< /Length ${text.length} >>\nstream\n${text}\nendstream`);
        objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents ${objects.length} 0 R ` +
            '/Resources << /Font << /F1 3 0 R >> >> >>');
        return `${objects.length} 0 R`;
    });
    objects[1] = `<< /Type /Pages /Count ${pages.length} /Kids [${kids.join(' ')}] >>`;
    let out = '%PDF-1.4\n';
    const at = objects.map((body, i) => {
        const start = out.length;
        out += `${i + 1} 0 obj\n${body}\nendobj\n`;
        return start;
    });
    const xref = out.length;
    out += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${at.map(n => `${String(n).padStart(10, '0')} 00000 n \n`).join('')}`;
    return Buffer.from(`${out}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF\n`, 'latin1');
}

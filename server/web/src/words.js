/* Every word of the page, in both languages: [English, Chinese]. {name} is filled in. */

import { language } from './prefs.js';

const WORDS = {
    /* frame */
    'app.history': ['Documents', '文档'],
    'app.add': ['Add files', '添加文件'],
    'app.settings': ['Settings', '设置'],
    'app.menu': ['Show the list of documents', '显示文档列表'],
    'app.skip': ['Skip to the document', '跳到文档'],
    'app.close': ['Close', '关闭'],
    'app.more': ['More for {name}', '{name} 的更多操作'],
    'app.mini': ['Demonstration model: reads large, clean English print only', '演示模型：仅能识别清晰的大号英文印刷体'],

    /* drop zone */
    'drop.title': ['Drop documents here', '把文档拖到这里'],
    'drop.over': ['Let go to add', '松开即可添加'],
    'drop.text': ['PDF files and pictures, several at once, or a folder. A picture can also be pasted.',
        '支持 PDF 和图片，可多选或拖入文件夹，也可以直接粘贴图片。'],
    'drop.choose': ['Choose files', '选择文件'],
    'drop.camera': ['Take a picture', '拍照'],
    'drop.pictures': ['{n} pictures', '{n} 张图片'],
    'drop.pictures.ask': ['Are they pages of one document?', '它们是同一份文档的各页吗？'],
    'drop.one': ['One document', '同一份文档'],
    'drop.each': ['{n} documents', '{n} 份文档'],

    /* uploads */
    'up.checking': ['Checking', '检查中'],
    'up.sending': ['Uploading, {n} %', '上传中 {n}%'],
    'up.stop': ['Stop uploading {name}', '停止上传 {name}'],
    'up.dismiss': ['Dismiss', '知道了'],
    'up.again': ['Try again', '重试'],
    'up.kind': ['Not a PDF or picture that can be read.', '不是可识别的 PDF 或图片。'],
    'up.empty': ['The file is empty.', '文件是空的。'],
    'up.large': ['{size}; this server takes files up to {limit}.', '文件大小 {size}，服务器上限为 {limit}。'],

    /* options */
    'opt.title': ['Options', '选项'],
    'opt.mode': ['What to do', '识别方式'],
    'mode.markdown': ['Document', '文档'],
    'mode.markdown.text': ['Text, headings, tables and formulas, with their places', '正文、标题、表格和公式，并标出位置'],
    'mode.text': ['Plain text', '纯文本'],
    'mode.text.text': ['All text in order, without layout', '按顺序输出全部文字，不含版面'],
    'mode.figure': ['Figure', '图表'],
    'mode.figure.text': ['What a chart or drawing shows, as data', '把图表或图形转成数据'],
    'mode.describe': ['Description', '描述'],
    'mode.describe.text': ['A picture in words', '用文字描述图片'],
    'mode.locate': ['Find', '查找'],
    'mode.locate.text': ['Where something is on the page', '找出某内容在页面上的位置'],
    'opt.query': ['What to find', '要查找的内容'],
    'opt.pages': ['Pages', '页码'],
    'opt.pages.hint': ['All, or like 1-5, 8, -1', '全部，或如 1-5, 8, -1'],
    'opt.dpi': ['Resolution', '分辨率'],
    'opt.dpi.auto': ['Automatic', '自动'],
    'opt.class': ['Priority', '优先级'],
    'opt.class.interactive': ['At once', '立即'],
    'opt.class.normal': ['Normal', '普通'],
    'opt.class.batch': ['When there is room', '空闲时'],
    'opt.reset': ['Reset', '恢复默认'],

    /* history */
    'list.label': ['All documents', '全部文档'],
    'list.search': ['Search documents', '搜索文档'],
    'list.loading': ['Loading', '加载中'],
    'list.empty': ['Nothing read yet.', '还没有文档。'],
    'list.none': ['No document is called like that.', '没有找到同名文档。'],
    'list.failed': ['The list cannot be loaded.', '无法加载列表。'],
    'list.again': ['Try again', '重试'],
    'list.sample': ['Try a sample', '试用示例'],
    'list.rename': ['Rename', '重命名'],
    'list.rename.to': ['New name', '新名称'],
    'list.delete': ['Delete', '删除'],
    'list.deleted': ['{name} deleted', '已删除 {name}'],
    'list.undo': ['Undo', '撤销'],

    /* jobs */
    'job.queued': ['Waiting', '排队中'],
    'job.queued.at': ['Waiting, {n} pages ahead', '排队中，前面还有 {n} 页'],
    'job.running': ['Reading', '识别中'],
    'job.done': ['Done', '完成'],
    'job.look': ['{n} to check', '{n} 页待检查'],
    'job.failed': ['Failed', '失败'],
    'job.cancelled': ['Cancelled', '已取消'],
    'job.expired': ['Expired', '已过期'],
    'job.gone': ['This document does not exist here, or has been deleted.', '该文档不存在或已被删除。'],
    'job.pages': ['{n} pages', '{n} 页'],
    'job.page1': ['1 page', '1 页'],
    'job.progress': ['{n} of {total} pages', '{n} / {total} 页'],
    'job.speed': ['{n} pages/s', '{n} 页/秒'],
    'job.eta': ['{time} left', '剩余 {time}'],
    'job.cancel': ['Cancel reading', '取消识别'],
    'job.download': ['Download', '下载'],
    'job.download.partial': ['Download what is done', '下载已完成部分'],
    'job.retry': ['Read {n} pages again', '重新识别 {n} 页'],
    'job.link': ['Copy link', '复制链接'],
    'job.linked': ['Link copied', '链接已复制'],
    'fmt.md': ['Markdown', 'Markdown'],
    'fmt.html': ['Web page', '网页'],
    'fmt.txt': ['Plain text', '纯文本'],
    'fmt.json': ['Layout data (JSON)', '版面数据（JSON）'],
    'fmt.pdf': ['Searchable PDF', '可搜索 PDF'],
    'fmt.zip': ['Everything, with pictures (ZIP)', '全部内容与图片（ZIP）'],

    /* password */
    'pass.title': ['This PDF is locked', '该 PDF 已加密'],
    'pass.text': ['Its password opens it here; it is kept in memory only, until the document has been read.',
        '请输入密码。密码只保留在内存中，识别完成后即清除。'],
    'pass.wrong': ['That is not its password.', '密码不正确。'],
    'pass.label': ['Password', '密码'],
    'pass.open': ['Open', '打开'],

    /* pages */
    'page.n': ['Page {n}', '第 {n} 页'],
    'strip.label': ['Pages', '页面'],
    'strip.filter': ['Which pages', '显示哪些页'],
    'strip.all': ['All pages', '全部页面'],
    'strip.look': ['To check', '待检查'],
    'strip.sure': ['Least sure first', '可信度低的在前'],
    'strip.none': ['No page needs a look.', '没有需要检查的页面。'],
    'st.queued': ['Waiting', '排队中'],
    'st.rendering': ['Drawing', '绘制中'],
    'st.reading': ['Reading', '识别中'],
    'st.ok': ['Read', '完成'],
    'st.blank': ['Blank', '空白页'],
    'st.suspect': ['Doubtful', '存疑'],
    'st.loop': ['Goes round', '内容重复'],
    'st.length': ['Cut short', '被截断'],
    'st.skipped': ['Skipped', '已跳过'],
    'st.error': ['Failed', '失败'],
    'st.cancelled': ['Cancelled', '已取消'],
    'st.edited': ['Edited', '已编辑'],
    'why.suspect': ['More text than there is ink, or little confidence: compare it with the picture.', '文字多于墨迹或可信度较低，请与图片核对。'],
    'why.loop': ['The model began to repeat itself; the text is kept up to there.', '模型开始重复输出，文字保留到重复之前。'],
    'why.length': ['The page has more text than fits; its end is missing.', '页面文字超出上限，末尾缺失。'],
    'why.error': ['This page could not be read.', '该页无法识别。'],
    'why.blank': ['There is no ink on this page.', '该页没有内容。'],
    'why.cancelled': ['Reading was cancelled before this page.', '识别到该页之前已取消。'],
    'why.queued': ['This page waits for its turn.', '该页正在排队。'],

    /* picture */
    'pic.label': ['Picture of the page', '页面图片'],
    'pic.alt': ['Page {n} as it was read', '第 {n} 页的图片'],
    'pic.none': ['No picture', '暂无图片'],
    'pic.in': ['Larger', '放大'],
    'pic.out': ['Smaller', '缩小'],
    'pic.fit': ['Whole page', '整页'],
    'pic.zoom': ['Zoom', '缩放'],
    'pic.boxes': ['Boxes', '版面框'],
    'pic.legend': ['Kinds of blocks', '版面类型'],
    'box.name': ['Block {n}, {kind}: {text}', '第 {n} 块，{kind}：{text}'],
    'box.copied': ['Block {n} copied', '已复制第 {n} 块'],
    'kind.title': ['Title', '标题'],
    'kind.heading': ['Heading', '小标题'],
    'kind.text': ['Text', '正文'],
    'kind.list': ['List', '列表'],
    'kind.table': ['Table', '表格'],
    'kind.equation': ['Formula', '公式'],
    'kind.figure': ['Figure', '图片'],
    'kind.caption': ['Caption', '图注'],
    'kind.other': ['Other', '其他'],

    /* text */
    'text.label': ['Text of the page', '页面文字'],
    'text.rendered': ['Text', '排版'],
    'text.markdown': ['Markdown', 'Markdown'],
    'text.raw': ['Raw', '原始'],
    'text.edit': ['Edit', '编辑'],
    'text.copy': ['Copy', '复制'],
    'text.copy.md': ['Page as Markdown', '本页（Markdown）'],
    'text.copy.rich': ['Page with formatting', '本页（带格式）'],
    'text.copy.tsv': ['Tables for a spreadsheet', '表格（粘贴到电子表格）'],
    'text.copied': ['Page copied', '已复制本页'],
    'text.copied.tsv': ['{n} tables copied', '已复制 {n} 个表格'],
    'text.notcopied': ['The browser did not allow copying.', '浏览器不允许复制。'],
    'text.retry': ['Read again', '重新识别'],
    'text.doubt': ['The model was not sure here', '模型对此处不确定'],
    'text.altered': ['Equal cells may have been altered', '相同的单元格可能被改动'],
    'text.nothing': ['There is no text on this page.', '该页没有文字。'],
    'text.reading': ['Reading this page', '正在识别该页'],
    'text.conf': ['Confidence {n} %', '可信度 {n}%'],
    'text.tokens': ['{n} tokens', '{n} 个词元'],
    'text.seconds': ['{n} s', '{n} 秒'],
    'text.attempts': ['{n} readings', '{n} 次识别'],
    'pane.picture': ['Picture', '图片'],
    'pane.text': ['Text', '文字'],

    /* edit */
    'edit.source': ['Markdown of page {n}', '第 {n} 页的 Markdown'],
    'edit.preview': ['Preview', '预览'],
    'edit.save': ['Save', '保存'],
    'edit.saving': ['Saving', '保存中'],
    'edit.saved': ['Saved', '已保存'],
    'edit.dirty': ['Not saved yet', '尚未保存'],
    'edit.draft': ['Your unsaved draft was kept', '已恢复未保存的草稿'],
    'edit.done': ['Done', '完成'],
    'edit.restore': ["Back to the model's text", '恢复模型原文'],
    'edit.conflict': ['This page was changed elsewhere in the meantime.', '该页同时在别处被修改。'],
    'edit.theirs': ['Take the other text', '使用对方的版本'],
    'edit.mine': ['Keep mine', '保留我的版本'],
    'edit.failed': ['Not saved: {why}', '保存失败：{why}'],

    /* reading again */
    'again.title': ['Read page {n} again', '重新识别第 {n} 页'],
    'again.text': ['The present text stays until you choose.', '在你选择之前，当前文字会保留。'],
    'again.same': ['Once more', '再试一次'],
    'again.same.text': ['With the same settings', '使用相同设置'],
    'again.wide': ['Against repetition', '防止重复'],
    'again.wide.text': ['A wider rule; for pages that go round', '放宽重复检测范围，适合内容重复的页面'],
    'again.whole': ['Whole view', '整页视图'],
    'again.whole.text': ['The page in one piece instead of tiles', '不切块，整页识别'],
    'again.free': ['Plain text', '纯文本'],
    'again.free.text': ['Without layout and boxes', '不含版面和框'],
    'again.start': ['Read again', '重新识别'],
    'again.ready': ['Page {n} was read again.', '第 {n} 页已重新识别。'],
    'again.compare': ['Compare', '比较'],
    'again.before': ['Before', '之前'],
    'again.after': ['After', '之后'],
    'again.keep': ['Keep this', '使用此版本'],
    'again.present': ['In use', '当前使用'],
    'again.kept': ['Kept', '已保留'],

    /* monitor */
    'mon.title': ['Device', '设备'],
    'mon.idle': ['Idle', '空闲'],
    'mon.busy': ['{n} pages/s', '{n} 页/秒'],
    'mon.queue': ['{n} waiting', '{n} 页排队'],
    'mon.stale': ['No news for {n} s', '{n} 秒没有更新'],
    'mon.none': ['Not available', '不可用'],
    'mon.use': ['Use', '利用率'],
    'mon.memory': ['Memory', '显存/内存'],
    'mon.power': ['Power', '功率'],
    'mon.temp': ['Temperature', '温度'],
    'mon.pages': ['Pages/s', '页/秒'],
    'mon.tokens': ['Tokens/s', '词元/秒'],
    'mon.waiting': ['Waiting pages', '排队页数'],
    'mon.running': ['Pages being read', '正在识别'],
    'mon.kv': ['KV cache', 'KV 缓存'],
    'mon.rss': ['Memory of the server', '服务器内存'],
    'mon.cpu': ['Processor', '处理器'],
    'mon.disk': ['Free disk', '磁盘可用'],
    'mon.now': ['now', '当前'],
    'mon.most': ['most in 10 min', '10 分钟最高'],
    'mon.value': ['Value', '指标'],

    /* connection */
    'net.waiting': ['Connection lost. Trying again in {n} s.', '连接中断，{n} 秒后重试。'],
    'net.offline': ['This device is offline. Reading goes on at the server.', '本机已离线，服务器仍在继续识别。'],
    'net.leaving': ['The server is restarting. Nothing is lost.', '服务器正在重启，内容不会丢失。'],
    'net.now': ['Try now', '立即重试'],
    'key.title': ['This server asks for a key', '该服务器需要密钥'],
    'key.text': ['You get one from whoever runs the server.', '请向服务器管理员索取。'],
    'key.user': ['Name', '名称'],
    'key.label': ['Key', '密钥'],
    'key.enter': ['Enter', '登录'],
    'key.wrong': ['The server does not know this key.', '服务器不认识此密钥。'],
    'key.out': ['Log out', '退出登录'],

    /* settings */
    'set.lang': ['Language', '语言'],
    'set.theme': ['Appearance', '外观'],
    'set.theme.light': ['Light', '浅色'],
    'set.theme.dark': ['Dark', '深色'],
    'set.theme.system': ['As the system', '跟随系统'],
    'set.size': ['Text size', '文字大小'],
    'set.doubt': ['Mark doubtful blocks', '标出不确定的内容'],
    'set.keys': ['Single-key shortcuts', '单键快捷键'],
    'set.licences': ['Licences', '开源许可'],
    'help.title': ['Shortcuts', '快捷键'],
    'help.pages': ['Next, previous page', '下一页、上一页'],
    'help.blocks': ['Next, previous block', '下一块、上一块'],
    'help.boxes': ['Boxes on and off', '显示或隐藏版面框'],
    'help.edit': ['Edit the text', '编辑文字'],
    'help.save': ['Save an edit', '保存编辑'],
    'help.retry': ['Read the page again', '重新识别该页'],
    'help.copy': ['Copy the page', '复制本页'],
    'help.search': ['Search documents', '搜索文档'],
    'help.help': ['This list', '显示本列表'],
    'help.esc': ['Close, cancel', '关闭、取消'],

    /* times and sizes */
    'time.now': ['just now', '刚刚'],
    'time.min': ['{n} min ago', '{n} 分钟前'],
    'time.s': ['{n} s', '{n} 秒'],
    'time.m': ['{n} min', '{n} 分钟'],
    'time.h': ['{n} h', '{n} 小时'],

    /* errors by code */
    'err.no_connection': ['The server cannot be reached.', '无法连接服务器。'],
    'err.aborted': ['Stopped.', '已停止。'],
    'err.body_too_large': ['Larger than this server takes.', '超过服务器的大小上限。'],
    'err.unsupported_media_type': ['Not a PDF or picture that can be read.', '不是可识别的 PDF 或图片。'],
    'err.document_unreadable': ['The file is damaged and cannot be opened.', '文件已损坏，无法打开。'],
    'err.page_out_of_range': ['The document does not have these pages.', '文档中没有这些页。'],
    'err.image_too_large': ['The picture has more pixels than this server takes.', '图片像素超过服务器上限。'],
    'err.rate_limit_exceeded': ['Too many requests; try again shortly.', '请求过于频繁，请稍后再试。'],
    'err.queue_full': ['The server has too much to do; try again later.', '服务器任务已满，请稍后再试。'],
    'err.quota_exceeded': ['The quota of your key is used up.', '密钥的配额已用完。'],
    'err.storage_full': ["The server's disk is full.", '服务器磁盘已满。'],
    'err.draining': ['The server is restarting; try again shortly.', '服务器正在重启，请稍后再试。'],
    'err.loading': ['The model is still loading; try again shortly.', '模型正在加载，请稍后再试。'],
    'err.forbidden': ['Your key does not allow this.', '你的密钥没有此权限。'],
    'err.edit_conflict': ['The page was changed elsewhere.', '该页已在别处被修改。'],
    'err.worker_lost': ['The page stopped its reader three times and was given up.', '该页三次导致识别进程退出，已放弃。'],
    'err.deadline_exceeded': ['It was not done in time.', '未能按时完成。'],
};

export function t(key, values) {
    const pair = WORDS[key];
    const text = pair ? pair[language() === 'zh' ? 1 : 0] : key;
    return values ? text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '') : text;
}

/* What went wrong, for the person: by code where we have words for it, else in the server's own. */
export function errorText(error) {
    const known = error && WORDS[`err.${error.code}`];
    return known ? t(`err.${error.code}`) : (error && error.message) || t('err.no_connection');
}

export const pageCount = n => n === 1 ? t('job.page1') : t('job.pages', { n: number(n) });
export const number = (n, digits = 0) => n.toLocaleString(language(), { maximumFractionDigits: digits });

export function bytes(n) {
    const units = ['B', 'KB', 'MB', 'GB', 'TB'];
    let i = 0;
    for (; n >= 1000 && i < units.length - 1; i++)
        n /= 1024;
    return `${number(n, n < 10 && i > 0 ? 1 : 0)} ${units[i]}`;
}

export function span(seconds) {
    if (seconds < 90)
        return t('time.s', { n: Math.max(1, Math.round(seconds)) });
    if (seconds < 5400)
        return t('time.m', { n: Math.round(seconds / 60) });
    return t('time.h', { n: number(seconds / 3600, 1) });
}

export function ago(ms, now = Date.now()) {
    const minutes = Math.floor((now - ms) / 60000);
    if (minutes < 1)
        return t('time.now');
    if (minutes < 60)
        return t('time.min', { n: minutes });
    const date = new Date(ms);
    const today = new Date(now).toDateString() === date.toDateString();
    return date.toLocaleString(language(), today ? { hour: '2-digit', minute: '2-digit' } :
        { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
}

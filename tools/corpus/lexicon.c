#include "lexicon.h"

#include "base/mem.h"

const struct lexicon lexicons[] = {
    {.code = "en",
     .sans = "Liberation Sans",
     .serif = "Liberation Serif",
     .stop = ". ",
     .subject = {"The committee", "Our laboratory", "A second team", "The northern station",
                 "The new instrument", "Each reviewer", "The city archive", "The harbour office",
                 "An independent auditor", "The pump house", "The survey", "This method",
                 "The night shift", "Every participant"},
     .predicate = {"reviewed the annual budget", "recorded # separate errors",
                   "measured the water level", "confirmed the earlier result",
                   "replaced # damaged valves", "described a quicker procedure",
                   "questioned the quality of the samples", "collected # boxes of letters",
                   "reached a different conclusion", "published the full data set",
                   "reduced the cost by # percent", "examined the jacket of the engine",
                   "asked for a longer trial", "kept a careful list of exceptions"},
     .tail = {"in the early spring", "before the board met again", "without any extra expense",
              "between June and October", "after a long discussion", "under normal conditions",
              "with remarkable accuracy", "during the first # days", "on behalf of the museum",
              "despite the heavy rain", "for the third year in a row", "at a depth of # metres",
              "as the plan required", "within a single week"},
     .title = {"Annual Report", "Notes on Measurement", "Water and Energy", "A Study of Valves",
               "Results of the Survey", "Materials and Methods", "The Harbour Project",
               "Quality of Samples", "Open Questions", "Costs and Benefits", "Field Work",
               "Summary", "Instruments", "Further Reading"},
     .noun = {"Copper pipe", "Gasket", "Oak panel", "Valve", "Wool blanket", "Lamp oil",
              "Iron hinge", "Paper roll", "Glass jar", "Zinc sheet", "Quartz tube", "Rope", "Brick",
              "Filter"},
     .greeting = "Dear colleague,",
     .farewell = "With kind regards",
     .figure = "Figure #. ",
     .table = "Table #. "},
    {.code = "fr",
     .sans = "Liberation Sans",
     .serif = "Liberation Serif",
     .stop = ". ",
     .subject = {"Le comité", "Notre laboratoire", "Une deuxième équipe", "La station du nord",
                 "Le nouvel appareil", "Chaque lecteur", "L’archive municipale", "La capitainerie",
                 "Un contrôleur indépendant", "L’usine à eau", "L’enquête", "Cette méthode",
                 "L’équipe de nuit", "Chaque élève"},
     .predicate = {"a examiné le budget annuel", "a relevé # erreurs", "a mesuré le niveau d’eau",
                   "a confirmé le premier résultat", "a remplacé # vannes usées",
                   "a décrit une procédure plus rapide", "a contrôlé la qualité des échantillons",
                   "a reçu # boîtes de lettres", "est arrivé à une autre conclusion",
                   "a publié toutes les données", "a réduit le coût de # pour cent",
                   "a vérifié le cœur du système", "a demandé un délai plus long",
                   "a dressé une liste précise des œuvres"},
     .tail = {"au début du printemps", "avant la réunion du conseil", "sans aucun frais",
              "entre juin et août", "après un long débat", "dans des conditions normales",
              "avec une précision étonnante", "pendant les # premiers jours", "au nom du musée",
              "malgré la forte pluie", "pour la troisième année", "à # mètres de profondeur",
              "là où c’était prévu", "en moins d’une semaine"},
     .title = {"Rapport annuel", "Notes de mesure", "Eau et énergie", "Étude des vannes",
               "Résultats de l’enquête", "Matériel et méthodes", "Le projet du port",
               "Qualité des échantillons", "Questions ouvertes", "Coûts et bénéfices",
               "Travail de terrain", "Résumé", "Appareils", "Pour aller plus loin"},
     .noun = {"Tuyau de cuivre", "Joint", "Panneau de chêne", "Vanne", "Couverture", "Huile",
              "Charnière", "Rouleau", "Bocal", "Tôle", "Tube à essai", "Corde", "Brique",
              "Filtre à café"},
     .greeting = "Chère collègue,",
     .farewell = "Bien cordialement à vous",
     .figure = "Figure #. ",
     .table = "Tableau #. "},
    {.code = "de",
     .sans = "Liberation Sans",
     .serif = "Liberation Serif",
     .stop = ". ",
     .subject = {"Der Ausschuss", "Unser Labor", "Eine zweite Gruppe", "Die nördliche Station",
                 "Das neue Gerät", "Jede Prüferin", "Das Stadtarchiv", "Das Hafenamt",
                 "Ein unabhängiger Prüfer", "Das Pumpenhaus", "Die Umfrage", "Dieses Verfahren",
                 "Die Nachtschicht", "Jeder Übersetzer"},
     .predicate = {"prüfte den Haushalt", "zählte # Fehler", "maß den Wasserstand",
                   "bestätigte das frühere Ergebnis", "ersetzte # beschädigte Ventile",
                   "beschrieb einen kürzeren Weg", "bezweifelte die Güte der Proben",
                   "sammelte # Kisten mit Briefen", "kam zu einem anderen Schluss",
                   "veröffentlichte alle Daten", "senkte die Kosten um # Prozent",
                   "untersuchte das Gehäuse", "verlangte größere Mengen",
                   "führte eine genaue Liste der Ausnahmen"},
     .tail = {"im frühen Frühjahr", "vor der nächsten Sitzung", "ohne zusätzlichen Aufwand",
              "zwischen Juni und Oktober", "nach langer Aussprache", "unter üblichen Bedingungen",
              "mit großer Genauigkeit", "in den ersten # Tagen", "im Auftrag des Museums",
              "trotz des heftigen Regens", "im dritten Jahr in Folge", "in # Metern Tiefe",
              "wie es der Plan verlangte", "innerhalb einer Woche"},
     .title = {"Jahresbericht", "Über das Messen", "Wasser und Energie", "Prüfung der Ventile",
               "Ergebnisse der Umfrage", "Stoffe und Verfahren", "Der Hafenbau", "Güte der Proben",
               "Offene Fragen", "Kosten und Nutzen", "Arbeit im Gelände", "Überblick", "Geräte",
               "Weiterführendes"},
     .noun = {"Kupferrohr", "Dichtung", "Eichenbrett", "Ventil", "Wolldecke", "Lampenöl",
              "Türangel", "Papierrolle", "Einmachglas", "Zinkblech", "Quarzröhre", "Seil", "Ziegel",
              "Filtertüte"},
     .greeting = "Sehr geehrte Kollegin,",
     .farewell = "Mit freundlichen Grüßen",
     .figure = "Abbildung #. ",
     .table = "Tabelle #. "},
    {.code = "ru",
     .sans = "DejaVu Sans",
     .serif = "DejaVu Serif",
     .stop = ". ",
     .subject = {"Наш отдел", "Второй отряд", "Северный пост", "Новый прибор", "Каждый читатель",
                 "Городской архив", "Портовый склад", "Независимый эксперт", "Старый завод",
                 "Этот способ", "Ночной дежурный", "Главный инженер", "Учёный совет", "Музей"},
     .predicate = {"проверил годовой отчёт", "отметил # ошибок", "измерил уровень воды",
                   "подтвердил прежний вывод", "заменил # клапанов", "описал быстрый метод",
                   "оценил качество проб", "собрал # ящиков писем", "пришёл к другому выводу",
                   "издал полный сборник", "снизил расходы на # процентов",
                   "изучил корпус двигателя", "попросил об отсрочке", "составил точный список"},
     .tail = {"ранней весной", "до нового заседания", "без лишних затрат", "с июня по октябрь",
              "после долгих споров", "в обычных условиях", "с большой точностью", "в первые # дней",
              "по просьбе института", "несмотря на сильный дождь", "третий год подряд",
              "на глубине # метров", "как требовал план", "в течение недели"},
     .title = {"Годовой отчёт", "Заметки об измерениях", "Вода и энергия", "Изучение клапанов",
               "Итоги опроса", "Материалы и методы", "Новый порт", "Качество проб",
               "Открытые вопросы", "Расходы и выгоды", "Полевые работы", "Обзор", "Приборы",
               "Литература"},
     .noun = {"Медная труба", "Прокладка", "Дубовая доска", "Клапан", "Одеяло", "Масло", "Петля",
              "Бумага", "Банка", "Цинк", "Кварц", "Верёвка", "Кирпич", "Фильтр"},
     .greeting = "Уважаемый коллега,",
     .farewell = "С наилучшими пожеланиями",
     .figure = "Рисунок #. ",
     .table = "Таблица #. "},
    {.code = "zh",
     .sans = "Noto Sans CJK SC",
     .serif = "Noto Serif CJK SC",
     .is_cjk = true,
     .stop = "。",
     .subject = {"委员会", "我们的实验室", "第二小组", "北方观测站", "新仪器", "每位审稿人",
                 "城市档案馆", "港口办公室", "独立审计员", "抽水站", "这项调查", "这种方法",
                 "夜班工人", "所有参加者"},
     .predicate = {"审查了年度预算", "记录了#处错误", "测量了水位", "证实了先前的结果",
                   "更换了#个损坏的阀门", "说明了更快的步骤", "怀疑样品的质量", "收集了#箱书信",
                   "得出了不同的结论", "公布了全部数据", "将成本降低了#%", "检查了发动机外壳",
                   "要求延长试验时间", "列出了详细的例外清单"},
     .tail = {"在初春", "在下次会议之前", "没有额外花费就", "在六月和十月之间", "经过长时间讨论",
              "在正常条件下", "以很高的精度", "在最初的#天里", "代表博物馆", "冒着大雨",
              "连续第三年", "在#米深处", "按照计划", "在一周之内"},
     .title = {"年度报告", "测量笔记", "水与能源", "阀门研究", "调查结果", "材料与方法", "港口工程",
               "样品质量", "未决问题", "成本与收益", "野外工作", "摘要", "仪器设备", "参考文献"},
     .noun = {"铜管", "垫圈", "橡木板", "阀门", "羊毛毯", "灯油", "铁铰链", "纸卷", "玻璃瓶",
              "锌板", "石英管", "绳索", "砖块", "过滤器"},
     .greeting = "尊敬的同事：",
     .farewell = "此致敬礼",
     .figure = "图# ",
     .table = "表# "},
    {.code = "ja",
     .sans = "Noto Sans CJK JP",
     .serif = "Noto Serif CJK JP",
     .is_cjk = true,
     .stop = "。",
     .subject = {"委員会は", "私たちの研究室は", "第二班は", "北の観測所は", "新しい装置は",
                 "各査読者は", "市の文書館は", "港の事務所は", "独立した監査人は", "ポンプ場は",
                 "この調査は", "この方法は", "夜勤の担当者は", "参加者は全員"},
     .predicate = {"年間予算を見直した", "#件の誤りを記録した", "水位を測定した",
                   "以前の結果を確かめた", "#個の弁を取り替えた", "より速い手順を示した",
                   "試料の品質を疑った", "#箱の手紙を集めた", "別の結論に達した",
                   "全データを公開した", "費用を#%減らした", "エンジンの覆いを調べた",
                   "試験の延長を求めた", "例外の一覧を作った"},
     .tail = {"春の初めに", "次の会議の前に", "余分な費用をかけずに", "六月から十月の間に",
              "長い議論の後で", "通常の条件で", "高い精度で", "最初の#日間に", "博物館に代わって",
              "激しい雨の中で", "三年続けて", "深さ#メートルで", "計画どおりに", "一週間以内に"},
     .title = {"年次報告", "測定ノート", "水とエネルギー", "弁の研究", "調査の結果", "材料と方法",
               "港の計画", "試料の品質", "残された問題", "費用と効果", "野外調査", "まとめ", "装置",
               "参考文献"},
     .noun = {"銅パイプ", "パッキン", "樫の板", "バルブ", "毛布", "ランプ油", "ちょうつがい",
              "巻紙", "ガラス瓶", "亜鉛板", "石英管", "ロープ", "れんが", "フィルター"},
     .greeting = "拝啓",
     .farewell = "敬具",
     .figure = "図# ",
     .table = "表# "},
};
const int n_lexicon = COUNT(lexicons);

const struct lexicon *lexicon_find(str code)
{
    for (int i = 0; i < n_lexicon; i++)
        if (str_eq(code, str_of(lexicons[i].code)))
            return &lexicons[i];
    return NULL;
}

void lexicon_numbered(const char *part, int n, struct buf *out)
{
    for (; *part; part++) {
        if (*part == '#')
            buf_fmt(out, "%d", n);
        else
            buf_char(out, *part);
    }
}

static void add_part(const char *const *parts, struct rng *r, struct buf *out)
{
    const char *part = parts[rng_below(r, LEXICON_PARTS)];

    lexicon_numbered(part, rng_in(r, 2, 199), out);
}

void lexicon_sentence(const struct lexicon *l, struct rng *r, struct buf *out)
{
    const char *gap = l->is_cjk ? "" : " ";

    add_part(l->subject, r, out);
    buf_text(out, gap);
    add_part(l->is_cjk ? l->tail : l->predicate, r, out);
    buf_text(out, gap);
    add_part(l->is_cjk ? l->predicate : l->tail, r, out);
    buf_text(out, l->stop);
}

void lexicon_paragraph(const struct lexicon *l, struct rng *r, int n_sentence, struct buf *out)
{
    while (n_sentence-- > 0)
        lexicon_sentence(l, r, out);
    if (out->n && out->p[out->n - 1] == ' ') /* the space behind the last stop */
        out->p[--out->n] = '\0';
}

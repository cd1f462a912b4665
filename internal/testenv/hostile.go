package testenv

import "strings"

// HostileTexts are texts that a careless program cannot store, cuts, changes, or takes for something else.
func HostileTexts() []string {
	return []string{
		"", " ", "\x00", "a\x00b", "\x1b[2J", "a\r\nb", "\t", "\u2028", "\u202e",
		"\xff", "\xc0\xaf", "\xe4", "a\xf0\x9f\x98", "\xed\xa0\x80", "\xed\xb0\x80", "\xf4\x90\x80\x80",
		"\ufffe", "\ufffd",
		"😀", "\U0010ffff", "張三 ㊙", "e\u0301", "ﬃ", "ı", "ß", "\u200b", "A ", "a ", "%", "_", "\\", `\'`,
		"'", "''", `"`, "`", "?", "' OR 1=1 -- ", "\xbf' OR 1=1 -- ", "_utf8mb4 x'61'", "/*!50000 x */", ";", "--", "#",
		"<script>alert(1)</script>", `{"a":1}`, "null", "NaN", "-1", "9223372036854775808", "1e400", "../../etc/passwd",
		"=1+1", strings.Repeat("x", 501), strings.Repeat("😀", 130), strings.Repeat("\xff", 300),
		strings.Repeat("\x00", 200), strings.Repeat("a", 70_000),
	}
}

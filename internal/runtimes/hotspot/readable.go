package hotspot

import "strings"

// readable gives a class's name as people write it: dots between its packages. What the machine adds to hidden classes
// goes, since it differs from run to run: an address behind "+" or "/", and the number of a lambda.
func readable(class string) string {
	if i := strings.LastIndexAny(class, "+/"); i > 0 && isHash(class[i+1:]) {
		class = class[:i]
	}
	if i := strings.LastIndex(class, lambda); i >= 0 && isDigits(class[i+len(lambda):], "$") {
		class = class[:i+len(lambda)]
	}
	return strings.ReplaceAll(class, "/", ".")
}

// lambda is in the names of the classes that lambdas are made objects of.
const lambda = "$$Lambda"

// isHash reports whether that is an address, or a number.
func isHash(s string) bool {
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		return rest != "" && strings.Trim(rest, "0123456789abcdef") == ""
	}
	return isDigits(s, "")
}

// isDigits reports whether a number follows a prefix.
func isDigits(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

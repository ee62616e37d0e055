// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"strings"
	"unicode"
)

// MinNameWidth is the least width for a cut name.
const MinNameWidth = 8

// longestName bounds the time for one name, in bytes; of a longer one the end is looked at.
const longestName = 1 << 12

// Shorten fits a function's name into a width: it drops ABI tags and what calls a lambda, the arguments, then template
// arguments, result type and outer names, and at last the middle of the method's name.
func Shorten(s string, width int) string {
	if width < MinNameWidth || Fits(s, width) {
		return s
	}
	if len(s) > longestName { // a target chooses it
		s = strings.ToValidUTF8(s[len(s)-longestName:], "")
	}
	if s = cutLambda(cutTags(s)); Fits(s, width) {
		return s
	}
	name, args := cutArguments(s)
	if args {
		s = name + "(…)"
	}
	if Fits(s, width) {
		return s
	}
	s = cutTemplates(s)
	if args {
		s = cutResult(s)
	}
	if Fits(s, width) {
		return s
	}
	for _, at := range nameParts(s) {
		if end := "…" + s[at:]; Fits(end, width) {
			return end
		}
	}
	if all := nameParts(s); len(all) > 0 {
		s = "…" + s[all[len(all)-1]:]
	}
	return cutMiddle(s, width)
}

func cutMiddle(s string, width int) string {
	if Fits(s, width) {
		return s
	}
	left := (width - 1) / 2
	return head(s, left) + "…" + tail(s, width-1-left)
}

// cutTags drops ABI tags, as [abi:cxx11].
func cutTags(s string) string {
	for {
		before, tag, found := strings.Cut(s, "[abi:")
		_, after, closed := strings.Cut(tag, "]")
		if !found || !closed {
			return s
		}
		s = before + after
	}
}

// cutLambda names a call of a lambda by the function that contains it: f(int)::{lambda(int)#1}::operator()(int) const
// is f(…)::{lambda#1}. _FUN is GCC's function for a pointer to a lambda.
func cutLambda(s string) string {
	at := strings.LastIndex(s, "::{lambda(")
	if at < 0 {
		return s
	}
	number, call, closed := strings.Cut(s[at:], "}")
	args := strings.LastIndexByte(number, '#')
	if !closed || args < 0 || call != "" && call != "::_FUN" && !strings.HasPrefix(call, "::operator()") &&
		!strings.HasPrefix(call, "::_FUN(") {
		return s
	}
	outer := cutLambda(s[:at])
	if name, ok := cutArguments(outer); ok {
		outer = name + "(…)"
	}
	return outer + "::{lambda" + number[args:] + "}"
}

func cutArguments(s string) (name string, ok bool) {
	end := strings.TrimRight(s, " &")
	end = strings.TrimSuffix(end, " const")
	if !strings.HasSuffix(end, ")") {
		return s, false
	}
	depth := 0
	for i := len(end) - 1; i > 0; i-- {
		switch end[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			return end[:i], !strings.HasSuffix(end[:i], ".") && !strings.HasSuffix(end[:i], "::")
		}
	}
	return s, false
}

func cutTemplates(s string) string {
	if strings.Contains(s, "operator") || strings.Count(s, "<") != strings.Count(s, ">") {
		return s
	}
	var b strings.Builder
	depth := 0
	for _, r := range s {
		if r == '>' {
			if depth--; depth < 0 {
				return s
			}
		}
		if depth == 0 {
			b.WriteRune(r)
		}
		if r == '<' {
			if depth++; depth == 1 {
				b.WriteRune('…')
			}
		}
	}
	return b.String()
}

func cutResult(s string) string {
	depth, at := 0, 0
	for i, r := range s {
		switch {
		case r == '<' || r == '(':
			depth++
		case r == '>' || r == ')':
			depth--
		case r == ' ' && depth == 0:
			if strings.HasSuffix(s[:i], "operator") {
				return s[at:]
			}
			at = i + 1
		}
	}
	return s[at:]
}

func nameParts(s string) (at []int) {
	depth, word := 0, false
	for i, r := range s {
		switch {
		case r == '(' || r == '<' || r == '{' || r == '[':
			if depth == 0 && word && i > 0 && s[i-1] == '.' { // Go's receiver
				at = append(at, i)
			}
			depth++
			word = true
			continue
		case r == ')' || r == '>' || r == '}' || r == ']':
			depth = max(0, depth-1)
		case depth > 0:
		case r == ':' || r == '.' || r == '/':
			word = true
			continue
		case word && i > 0 && strings.ContainsRune(":./", rune(s[i-1])) && (unicode.IsLetter(r) || r == '_' || r == '~'):
			at = append(at, i)
		}
	}
	return at
}

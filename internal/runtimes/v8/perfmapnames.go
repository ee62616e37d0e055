// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"strconv"
	"strings"
)

// jsPrefixes mark JavaScript in V8's perf maps (src/logger/code-events.h, src/logging/log.cc).
var jsPrefixes = [...]string{"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}

// PerfMapPosition returns file and line (from 1) in a perf map name, such as "JS:*sum /srv/app/stats.js:10:20" or
// "LazyCompile:~ node:fs:1:2"; false for other forms.
func PerfMapPosition(name string) (file string, line int, ok bool) {
	for _, prefix := range jsPrefixes {
		if rest, found := strings.CutPrefix(name, prefix); found {
			return fileLine(rest)
		}
	}
	return "", 0, false
}

// fileLine parses "MARKNAME FILE:LINE:COLUMN". A function name has a blank only in "get x", "set x" and "async x", a
// path anywhere.
func fileLine(s string) (file string, line int, ok bool) {
	s, column, ok1 := cutNumber(s)
	s, line, ok2 := cutNumber(s)
	if !ok1 || !ok2 || column < 1 || line < 1 {
		return "", 0, false
	}
	s = strings.TrimLeft(s, "~^+*'`")
	for _, accessor := range [...]string{"get ", "set ", "async "} {
		if rest, found := strings.CutPrefix(s, accessor); found && strings.Contains(rest, " ") {
			s = rest
		}
	}
	_, file, found := strings.Cut(s, " ")
	if !found || file == "" {
		return "", 0, false
	}
	return file, line, true
}

func cutNumber(s string) (rest string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return s, 0, false
	}
	return s[:i], n, true
}

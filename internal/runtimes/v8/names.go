// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"strconv"
	"strings"
)

// kinds are the kinds of code that V8 writes before a JavaScript function's
// name (src/logger/code-events.h and src/logging/log.cc in V8).
var kinds = [...]string{"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}

// Position gives the source position in a name that V8 writes to a perf map,
// such as "JS:*sum /srv/app/stats.js:10:20" or "LazyCompile:~ node:fs:1:2": the
// file and the line, which count from 1. False if name is not of that form.
func Position(name string) (file string, line int, ok bool) {
	for _, kind := range kinds {
		if rest, found := strings.CutPrefix(name, kind); found {
			return position(rest)
		}
	}
	return "", 0, false
}

// position reads "MARK NAME FILE:LINE:COLUMN". A function's name has a blank
// only in "get x" and "set x"; a path may have some.
func position(s string) (file string, line int, ok bool) {
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

// cutNumber takes ":NUMBER" off the end.
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

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/exit"
	"prywalk/report"
)

// textForms exclude each other; fileForms may be combined.
var textForms = []string{"tree", "folded", "json", "account", "callers", "callees", "source"}

// formFlags are flags of some forms only: the table (""), and those named.
var formFlags = map[string][]string{
	"rows":       {"", "json"},
	"by":         {"", "json"},
	"sort":       {"", "json"},
	"full-names": {"", "tree", "callers", "callees"},
	"value": append([]string{"", "json", "tree", "folded", "callers", "callees", "source"},
		fileFlags(func(f *fileForm) bool { return f.clock })...),
	"ci": {"", "json", "callers", "callees"},
	"lines": append([]string{"", "json", "tree", "folded", "callers", "callees"},
		fileFlags(func(f *fileForm) bool { return f.lines })...),
	"source-dir": {"source", "http"},
}

// check rejects values that no profile has, and flags without effect.
func (f *reportFlags) check() error {
	for _, flag := range append(append([]string{"http", "by", "sort", "value", "focus", "ignore", "thread", "process",
		"state", "wait", "source-dir", "symbols"},
		textForms...), fileFlags(anyForm)...) {
		if f.changed(flag) && f.empty(flag) {
			return exit.Usage("--%s has an empty value; leave it out, or give one", flag)
		}
	}
	if f.opts.By != "" && !report.IsGrouping(f.opts.By) {
		return exit.Usage("--by %q: choose %s", f.opts.By, inWords(append(report.Groupings(), "label:NAME")))
	}
	if state, err := regexp.Compile(f.opts.State); err == nil && !state.MatchString("[no state]") &&
		!slices.ContainsFunc(report.States(), state.MatchString) {
		return exit.Usage("--state %q: choose %s", f.opts.State, inWords(report.States()))
	}
	if f.opts.NoIdle && f.opts.By != "wait" {
		return exit.Usage("--no-idle has no effect without --by wait; leave it out, or add that")
	}
	if f.opts.Sort != "" && !slices.Contains(report.Orders(), f.opts.Sort) {
		return exit.Usage("--sort %q: choose %s", f.opts.Sort, inWords(report.Orders()))
	}
	if f.changed("to") && f.to == 0 {
		return exit.Usage("--to 0 leaves nothing: give a time after the beginning of the recording")
	}
	if f.changed("from") && f.changed("to") && f.from >= f.to {
		return exit.Usage("--from %s is not before --to %s", &f.from, &f.to)
	}
	forms, err := f.forms()
	if err != nil {
		return err
	}
	for _, flag := range []string{"rows", "by", "sort", "full-names", "value", "ci", "lines", "source-dir"} {
		if !f.changed(flag) {
			continue
		}
		for _, form := range forms {
			if !slices.Contains(formFlags[flag], form) {
				return exit.Usage("%s has no effect with %s; leave one of them out",
					orElse("--"+flag, flag == "rows", "-n (--rows)"), orElse("--"+form, form == "", "the table"))
			}
		}
	}
	return nil
}

func orElse(text string, instead bool, other string) string {
	if instead {
		return other
	}
	return text
}

func (f *reportFlags) empty(flag string) bool {
	text := map[string]string{
		"http": f.http, "by": f.opts.By, "sort": f.opts.Sort, "value": f.opts.Value,
		"focus": f.opts.Focus, "ignore": f.opts.Ignore,
		"thread":  f.opts.Thread,
		"process": f.opts.Process, "state": f.opts.State, "wait": f.opts.Wait, "callers": f.callers, "callees": f.callees,
		"source":     f.source,
		"source-dir": f.sourceDir,
	}
	for i := range fileForms {
		text[fileForms[i].flag] = string(f.files[i])
	}
	v, ok := text[flag]
	return ok && v == "" || flag == "symbols" && slices.Contains(f.symbols, "")
}

// forms returns the given forms, "" for the table. Several are allowed only as files, or a tree as JSON.
func (f *reportFlags) forms() ([]string, error) {
	set := func(flags []string) (out []string) {
		for _, flag := range flags {
			if f.changed(flag) {
				out = append(out, flag)
			}
		}
		return out
	}
	texts, files := set(textForms), set(fileFlags(anyForm))
	if f.changed("http") {
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == "source" }) // then a directory
		if others := slices.Concat(texts, files); len(others) > 0 {
			return nil, exit.Usage("--http and --%s: choose one", others[0])
		}
		return []string{"http"}, nil
	}
	switch {
	case len(texts) > 0 && len(files) > 0:
		return nil, exit.Usage("--%s goes to stdout and --%s to a file: choose one", texts[0], files[0])
	case len(texts) > 1 && !(len(texts) == 2 && f.json && f.tree):
		return nil, exit.Usage("choose one of --%s", strings.Join(texts, " and --"))
	case len(texts) == 2:
		return []string{"json"}, nil
	case len(texts)+len(files) == 0:
		return []string{""}, nil
	}
	return append(texts, files...), nil
}

func inWords(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

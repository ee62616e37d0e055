// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/report"
)

var formFlags = []string{"rows", "by", "sort", "full", "full-names", "value", "ci", "lines", "source-dir"}

func hasEffect(flag, form string) bool {
	for i := range textForms {
		if textForms[i].flag == form {
			return slices.Contains(strings.Fields(textForms[i].with), flag)
		}
	}
	for i := range fileForms {
		if fileForms[i].flag == form {
			return slices.Contains(strings.Fields(fileForms[i].with), flag)
		}
	}
	return false
}

func (f *reportFlags) check() error {
	if slices.Contains(f.symbols, "") {
		return errs.Usage("--symbols has an empty value; leave it out, or give one")
	}
	if f.opts.By != "" && !report.IsGrouping(f.opts.By) {
		return errs.Usage("--by %q: choose %s", f.opts.By, joinWords(append(report.Groupings(), "label:NAME")))
	}
	if state, err := regexp.Compile(f.opts.State); err == nil && !state.MatchString("[no state]") &&
		!slices.ContainsFunc(report.States(), state.MatchString) {
		return errs.Usage("--state %q: choose %s", f.opts.State, joinWords(report.States()))
	}
	if f.opts.Full && f.opts.By != "" {
		return errs.Usage("--full has no effect with --by, which folds nothing; leave one of them out")
	}
	if f.opts.NoIdle && f.opts.By != "wait" {
		return errs.Usage("--no-idle has no effect without --by wait; leave it out, or add that")
	}
	if f.blame && f.changed("value") && f.opts.Value != "blocked" {
		return errs.Usage("--blame is about blocked time; leave out --value %s or --blame", printable.Line(f.opts.Value))
	}
	if f.changed("window") && (f.slow == "" || f.stays.Window <= 0) {
		return errs.Usage("--window %s: give --slow FUNCTION, and a time such as 1s", f.stays.Window)
	}
	if f.changed("over") && (f.slow == "" || f.stays.Over <= 0) {
		return errs.Usage("--over %s: give --slow FUNCTION, and a time such as 200ms", f.stays.Over)
	}
	if f.opts.Sort != "" && !slices.Contains(report.Orders(), f.opts.Sort) {
		return errs.Usage("--sort %q: choose %s", f.opts.Sort, joinWords(report.Orders()))
	}
	if f.changed("rows") {
		if err := checkRows(f.opts.N); err != nil {
			return err
		}
	}
	if f.changed("to") && f.to.IsStart() {
		return errs.Usage("--to 0 leaves nothing: give a time after the beginning of the recording")
	}
	forms, err := f.forms()
	if err != nil {
		return err
	}
	for _, flag := range formFlags {
		if !f.changed(flag) {
			continue
		}
		for _, form := range forms {
			if !hasEffect(flag, form) {
				return errs.Usage("%s has no effect with %s; leave one of them out", shownFlag(flag), shownFlag(form))
			}
		}
	}
	return nil
}

func shownFlag(flag string) string {
	switch flag {
	case "":
		return "the table"
	case "rows":
		return "-n (--rows)"
	}
	return "--" + flag
}

// forms returns the given forms, "" for the table. Several may be files, or a tree as JSON.
func (f *reportFlags) forms() ([]string, error) {
	var texts, files []string
	for i := range textForms {
		if flag := textForms[i].flag; flag != "" && f.changed(flag) {
			texts = append(texts, flag)
		}
	}
	for i := range fileForms {
		if flag := fileForms[i].flag; f.changed(flag) {
			files = append(files, flag)
		}
	}
	for i, path := range f.files {
		for j := range i {
			if isOneOutput(path, f.files[j]) {
				return nil, errs.Usage("--%s and --%s name one file; give two", fileForms[j].flag, fileForms[i].flag)
			}
		}
	}
	switch {
	case len(texts) > 0 && len(files) > 0:
		return nil, errs.Usage("--%s goes to stdout and --%s to a file: choose one", texts[0], files[0])
	case len(texts) > 1 && !(len(texts) == 2 && f.json && (f.tree || f.chains || f.slow != "")):
		return nil, errs.Usage("choose one of --%s", strings.Join(texts, " and --"))
	case len(texts) == 2 && !f.tree:
		return texts[:1], nil
	case len(texts) == 2:
		return []string{"json"}, nil
	case len(texts)+len(files) == 0:
		return []string{""}, nil
	}
	return append(texts, files...), nil
}

func joinWords(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

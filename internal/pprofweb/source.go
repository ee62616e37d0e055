// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"os"
	"regexp"

	"github.com/google/pprof/profile"

	"prywalk/internal/sourcelines"
	"prywalk/internal/tabular"
)

const aroundLines = 8

type sources struct {
	profile *profile.Profile
	files   sourcelines.Files
}

type sourceLine struct {
	N         int64
	Self, All string
	Text      string
}

type sourceFunc struct {
	Name, File, Problem string
	Lines               []sourceLine
}

var sourcePage = template.Must(template.New("").Parse(`<!DOCTYPE html><meta charset="utf-8"><title>source</title>
<style>body{font-family:sans-serif}pre{margin:0}td{padding:0 1em 0 0;text-align:right}
td:last-child{text-align:left}</style>
{{range .}}<h3>{{.Name}}</h3><p>{{.File}} {{.Problem}}</p>
<table><tr><td>line</td><td>self</td><td>total</td><td></td></tr>
{{range .Lines}}<tr><td>{{.N}}</td><td>{{.Self}}</td><td>{{.All}}</td><td><pre>{{.Text}}</pre></td></tr>
{{end}}</table>{{else}}<p>No function with lines has such a name.</p>{{end}}`))

// ServeHTTP shows the functions that match f.
func (s *sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want, err := regexp.Compile(r.URL.Query().Get("f"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	column, err := s.profile.SampleIndexByName(r.URL.Query().Get("si"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	unit := s.profile.SampleType[column].Unit
	var funcs []sourceFunc
	for _, f := range sourcelines.Functions(s.profile, want, column) {
		funcs = append(funcs, s.list(f, unit))
	}
	var page bytes.Buffer
	if err := sourcePage.Execute(&page, funcs); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w)
}

func (s *sources) list(f *sourcelines.Function, unit string) (shown sourceFunc) {
	shown.Name, shown.File = f.Name, f.File
	first, last := int64(1<<62), int64(0)
	for n := range f.ByLine {
		first, last = min(first, n), max(last, n)
	}
	text, err := s.files.Read(f.File)
	switch {
	case errors.Is(err, os.ErrNotExist):
		shown.Problem = "is not below the directory that --source-dir names"
	case err != nil:
		shown.Problem = "cannot be read: " + err.Error()
	}
	for n := max(first-aroundLines, 1); err == nil && n <= last+aroundLines && n <= int64(len(text)); n++ {
		line := sourceLine{N: n, Text: text[n-1]}
		if l := f.ByLine[n]; l != nil {
			line.Self, line.All = tabular.Format(l.Self, unit), tabular.Format(l.Total, unit)
		}
		shown.Lines = append(shown.Lines, line)
	}
	return shown
}

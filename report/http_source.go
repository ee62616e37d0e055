package report

import (
	"bytes"
	"cmp"
	"html/template"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/stranger"
	"prywalk/internal/tabular"
)

const (
	// maxSource is the size above which a file is no source, in bytes.
	maxSource = 16 << 20
	// maxSourceFuncs bounds the functions on a page, and aroundLines is what is shown around their lines.
	maxSourceFuncs = 50
	aroundLines    = 8
	// maxParts bounds the parts of a path, for each of which a file is looked for.
	maxParts = 64
)

// sources is the page with the lines of functions. The files are looked for below one directory, which the
// user has named; the paths are the profile's, and never lead out of it.
type sources struct {
	profile *profile.Profile
	dir     string
	files   stranger.Opener
}

// sourceLine is a line with its values: what it used itself, and with all that it called.
type sourceLine struct {
	N         int64
	Self, All string
	Text      string
	self, all int64
}

// sourceFunc is a function on the page.
type sourceFunc struct {
	Name, File, Problem string
	Lines               []sourceLine
	byLine              map[int64]*sourceLine
	all                 int64
}

var sourcePage = template.Must(template.New("").Parse(`<!DOCTYPE html><meta charset="utf-8"><title>source</title>
<style>body{font-family:sans-serif}pre{margin:0}td{padding:0 1em 0 0;text-align:right}
td:last-child{text-align:left}</style>
{{range .}}<h3>{{.Name}}</h3><p>{{.File}} {{.Problem}}</p>
<table><tr><td>line</td><td>self</td><td>total</td><td></td></tr>
{{range .Lines}}<tr><td>{{.N}}</td><td>{{.Self}}</td><td>{{.All}}</td><td><pre>{{.Text}}</pre></td></tr>
{{end}}</table>{{else}}<p>No function with lines has such a name.</p>{{end}}`))

// ServeHTTP implements http.Handler; f is a regular expression for function names.
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
	funcs := s.functions(want, column)
	unit := s.profile.SampleType[column].Unit
	for _, f := range funcs {
		s.list(f, unit)
	}
	var page bytes.Buffer
	if err := sourcePage.Execute(&page, funcs); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // the browser may have gone
}

// functions adds up the lines of the functions that match, the most expensive first.
func (s *sources) functions(want *regexp.Regexp, column int) []*sourceFunc {
	all := map[*profile.Function]*sourceFunc{}
	for _, sample := range s.profile.Sample {
		v, leaf := sample.Value[column], true
		seenLine, seenFunc := map[*sourceLine]bool{}, map[*sourceFunc]bool{} // once in recursion
		for _, loc := range sample.Location {
			for _, l := range loc.Line {
				if l.Function == nil || l.Function.Filename == "" || !want.MatchString(l.Function.Name) {
					leaf = false
					continue
				}
				f := all[l.Function]
				if f == nil {
					f = &sourceFunc{Name: l.Function.Name, File: l.Function.Filename, byLine: map[int64]*sourceLine{}}
					all[l.Function] = f
				}
				line := f.byLine[l.Line]
				if line == nil {
					line = &sourceLine{N: l.Line}
					f.byLine[l.Line] = line
				}
				if !seenLine[line] {
					seenLine[line] = true
					line.all += v
				}
				if !seenFunc[f] {
					seenFunc[f] = true
					f.all += v
				}
				if leaf {
					line.self += v
				}
				leaf = false
			}
		}
	}
	var out []*sourceFunc
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *sourceFunc) int {
		return cmp.Or(cmp.Compare(b.all, a.all), strings.Compare(a.Name, b.Name), strings.Compare(a.File, b.File))
	})
	return out[:min(len(out), maxSourceFuncs)]
}

// list fills in the lines to show, with their text if the file is there.
func (s *sources) list(f *sourceFunc, unit string) {
	first, last := int64(1<<62), int64(0)
	for n := range f.byLine {
		first, last = min(first, n), max(last, n)
	}
	text, err := s.read(f.File)
	if err != nil {
		f.Problem = "is not below the directory that --source-dir names"
	}
	for n := max(first-aroundLines, 1); err == nil && n <= last+aroundLines && n <= int64(len(text)); n++ {
		line := sourceLine{N: n, Text: text[n-1]}
		if l := f.byLine[n]; l != nil {
			line.Self, line.All = tabular.Format(l.self, unit), tabular.Format(l.all, unit)
		}
		f.Lines = append(f.Lines, line)
	}
}

// read gives the lines of a source file: of the longest end of its path that is there below the directory.
// A path that begins with the directory is such an end too.
func (s *sources) read(name string) ([]string, error) {
	parts := strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
	var failed error
	for i := max(0, len(parts)-maxParts); i < len(parts); i++ {
		f, err := s.files.Open(stranger.Request{
			Root: s.dir, Path: strings.Join(parts[i:], "/"), Beneath: true, MaxSize: maxSource,
		})
		if err != nil {
			failed = err
			continue
		}
		b, err := io.ReadAll(f.Reader())
		_ = f.Close() // it was only read
		return strings.Split(string(b), "\n"), err
	}
	return nil, failed
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/view"
)

//go:embed page.html page.css page_model.js page_selection.js page_precision.js page_graph.js page_around.js page_ui.js
var pageFiles embed.FS

// pageTemplate is parsed once; its text is fixed at build time.
var pageTemplate = template.Must(template.ParseFS(pageFiles, "page.html"))

// HTML writes one page that needs nothing else: a flame graph of every type of
// values, a table of functions and a list of threads. Options.Value is the type
// that it opens with. In a large profile, call paths under 0.05 % of every type
// are drawn as one; the page says so.
func HTML(w io.Writer, p *profile.Profile, o Options) error {
	if o.Value != view.TypeBlocked { // it comes as one more type, if there is what it follows from
		p = view.WithBlocked(p)
	}
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.writePage(w, d.page())
}

// writePage writes the page of its data.
func (d *data) writePage(w io.Writer, page *page) error {
	if d.Err() != nil {
		return d.Err()
	}
	// Marshal writes <, > and & as escapes, so that no name can end the script
	// element that the data are in.
	raw, err := json.Marshal(page)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	style, script, err := pageSources()
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(d.Writer(w))
	err = pageTemplate.Execute(buf, map[string]any{
		"Title": page.Title, "Style": template.CSS(style), "Script": template.JS(script), "Data": template.JS(raw),
	})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return buf.Flush()
}

// pageSources gives the page's own style and script.
func pageSources() (style, script string, err error) {
	css, err := pageFiles.ReadFile("page.css")
	if err != nil {
		return "", "", err
	}
	for _, name := range []string{"page_model.js", "page_selection.js", "page_precision.js", "page_graph.js",
		"page_around.js", "page_ui.js"} {
		js, err := pageFiles.ReadFile(name)
		if err != nil {
			return "", "", err
		}
		script += string(js)
	}
	return string(css), script, nil
}

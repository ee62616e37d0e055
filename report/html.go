// SPDX-License-Identifier: Apache-2.0

package report

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
)

//go:embed page.css
var pageStyle template.CSS

//go:embed page.html page_*.js
var pageFiles embed.FS

// pageScripts are in the order of execution.
var pageScripts = []string{"page_times.js", "page_model.js", "page_own.js", "page_selection.js", "page_precision.js",
	"page_graph.js", "page_around.js", "page_state.js", "page_overview.js", "page_tracks.js", "page_waits.js",
	"page_export.js", "page_ui.js"}

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page.html"))

// HTML writes a self-contained page: a flame graph of all values, functions and threads, first Options.Value. In large
// profiles it merges call paths under 0.05 % of all values, and says so. With Options.SourceDir it has
// the source of functions.
func HTML(w io.Writer, p *profile.Profile, o Options) error {
	return view.Write(w, view.WithBlocked(p), o, func(v *view.Data, to io.Writer) error {
		d := &data{v}
		return d.writePage(to, d.page())
	})
}

func (d *data) writePage(to io.Writer, page *page) error {
	if d.Memory.Err() != nil {
		return d.Memory.Err()
	}
	// Marshal escapes <, > and &: no name can end the script element.
	raw, err := json.Marshal(page)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var script template.JS
	for _, name := range pageScripts {
		js, err := pageFiles.ReadFile(name)
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		script += template.JS(js)
	}
	err = pageTemplate.Execute(to, map[string]any{
		"Title": page.Title, "Conclusion": page.conclusion, "Style": pageStyle, "Script": script, "Data": template.JS(raw),
	})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

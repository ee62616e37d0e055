// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// In the chart's units.
const (
	panelWidth, panelHeight = 480, 300
	padLeft, padRight       = 52, 16
	padTop, padBottom       = 34, 46
	headHeight              = 56
	columns                 = 2
)

type panel struct {
	title string
	rows  []Row
	lo    float64
	depth bool
}

// SVG draws throughput with ÷ without against threads: a panel per workload, frequency and running threads, a line per
// tool.
func SVG(w io.Writer, r *Result) error {
	var b strings.Builder
	panels, tools := panelsOf(r.Rows), toolsOf(r.Rows)
	height := headHeight + panelHeight*((len(panels)+columns-1)/columns)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+
		"\n", columns*panelWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", columns*panelWidth, height)
	fmt.Fprintf(&b,
		`<text x="%d" y="20" font-size="14">Throughput while sampled / not sampled, with 95%% intervals (%s, %d `+
			`processors, Linux %s)</text>`+"\n",
		padLeft, html.EscapeString(r.Machine.Model), r.Machine.Processors, html.EscapeString(r.Machine.Kernel))
	legend(&b, tools)
	for i := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWidth, headHeight+i/columns*panelHeight)
		panels[i].draw(&b, tools)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func panelsOf(rows []Row) []panel {
	var out []panel
	for _, r := range rows {
		title := fmt.Sprintf("%s, %d running, %.0f Hz", r.WorkloadName(), r.Running, r.Freq)
		i := slices.IndexFunc(out, func(p panel) bool { return p.title == title })
		if i < 0 {
			i = len(out)
			out = append(out, panel{title: title, lo: 0.95, depth: r.Depth > 0})
		}
		p := &out[i]
		p.rows = append(p.rows, r)
		p.lo = min(p.lo, max(math.Floor(r.Low*20)/20, 0))
	}
	return out
}

// WorkloadName names the row's workload.
func (r *Row) WorkloadName() string {
	if r.Workload == "" {
		return "busy"
	}
	return r.Workload
}

// Tool names the row's tool.
func (r *Row) Tool() string {
	if r.Peer == "" {
		return "prywalk"
	}
	return r.Peer
}

func toolsOf(rows []Row) []string {
	out := []string{"prywalk"}
	for i := range rows {
		if t := rows[i].Tool(); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// colors are Okabe and Ito's for colour-blind readers, and greys.
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#b5a642",
	"#7f3c8d"}

func colorOf(tools []string, tool string) string {
	return colors[slices.Index(tools, tool)%len(colors)]
}

func legend(b *strings.Builder, tools []string) {
	x := padLeft
	for _, t := range tools {
		fmt.Fprintf(b, `<text x="%d" y="42" fill="%s">● %s</text>`+"\n", x, colorOf(tools, t), html.EscapeString(t))
		x += 24 + 7*len(t)
	}
}

// x is logarithmic, from 1 to 10,000.
func (p *panel) x(r *Row) float64 {
	n := r.Threads
	if p.depth {
		n = r.Depth
	}
	return place(n)
}

func place(n int) float64 {
	return padLeft + (panelWidth-padLeft-padRight)*math.Log10(float64(max(n, 1)))/4
}

const top = 1.02 // upper end of the vertical axis

func (p *panel) y(ratio float64) float64 {
	return padTop + (panelHeight-padTop-padBottom)*(top-min(max(ratio, p.lo), top))/(top-p.lo)
}

func (p *panel) draw(b *strings.Builder, tools []string) {
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="bold">%s</text>`+"\n", padLeft, html.EscapeString(p.title))
	p.axes(b)
	for _, t := range tools {
		p.line(b, t, colorOf(tools, t))
	}
}

func (p *panel) axes(b *strings.Builder) {
	for n := 1; n <= 10000; n *= 10 {
		fmt.Fprintf(b,
			`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n",
			place(n), place(n), padTop, panelHeight-padBottom, place(n), panelHeight-padBottom+16, n)
	}
	step := 0.01
	for (1-p.lo)/step > 10 {
		step *= 2
	}
	for v := 1.0; v >= p.lo-1e-9; v -= step {
		fmt.Fprintf(b,
			`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.2f</text>`+"\n",
			padLeft, panelWidth-padRight, p.y(v), p.y(v), padLeft-6, p.y(v)+4, v)
	}
	what := "threads in all"
	if p.depth {
		what = "frames"
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (padLeft+panelWidth-padRight)/2,
		panelHeight-12, what)
}

func (p *panel) line(b *strings.Builder, tool, color string) {
	at := map[float64]*Row{}
	for i := range p.rows {
		if r := &p.rows[i]; r.Tool() == tool && at[p.x(r)] == nil {
			at[p.x(r)] = r
		}
	}
	var points []string
	for _, x := range slices.Sorted(maps.Keys(at)) {
		r := at[x]
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, p.y(r.Ratio)))
		fmt.Fprintf(b,
			`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-opacity="0.5"/><circle cx="%.1f" cy="%.1f" `+
				`r="3" fill="%s"/>`+"\n",
			x, x, p.y(r.Low), p.y(r.High), color, x, p.y(r.Ratio), color)
	}
	if len(points) > 1 {
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s"/>`+"\n", strings.Join(points, " "), color)
	}
}

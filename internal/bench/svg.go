package bench

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Size of the chart in its own units.
const (
	chartW, chartH = 760, 420
	padL, padR     = 64, 190
	padT, padB     = 40, 52
)

// series is the rows that share a line of the chart.
type series struct {
	name string
	rows []Row
}

// SVG draws throughput with / without against the number of threads, with the 95 %
// intervals, a line for each frequency and number of running threads.
func SVG(w io.Writer, r *Result) error {
	var b strings.Builder
	lines := group(r.Rows)
	lo := lowest(r.Rows)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartW, chartH)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartW, chartH)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">Throughput while sampled, against the number of threads (%s, Linux %s)</text>`+"\n",
		padL, html.EscapeString(r.Machine.Model), html.EscapeString(r.Machine.Kernel))
	axes(&b, lo)
	for i, s := range lines {
		draw(&b, s, i, lo)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// group sorts rows into lines, in the order of their first appearance.
func group(rows []Row) []series {
	var out []series
next:
	for _, r := range rows {
		name := fmt.Sprintf("%.0f Hz, %d running", r.Freq, r.Running)
		if r.Workload != "" {
			name = r.Workload + ", " + name
		}
		if r.Peer != "" {
			name = r.Peer + " " + name
		}
		for i := range out {
			if out[i].name == name {
				out[i].rows = append(out[i].rows, r)
				continue next
			}
		}
		out = append(out, series{name, []Row{r}})
	}
	return out
}

// lowest gives the lower end of the vertical axis: a round number below all.
func lowest(rows []Row) float64 {
	lo := 0.95
	for _, r := range rows {
		lo = min(lo, r.Low)
	}
	return max(math.Floor(lo*20)/20, 0)
}

// x places a number of threads on a logarithmic axis from 1 to 10,000.
func x(threads int) float64 {
	return padL + (chartW-padL-padR)*math.Log10(float64(max(threads, 1)))/4
}

// y places a ratio between lo and 1.02.
func y(ratio, lo float64) float64 {
	return padT + (chartH-padT-padB)*(1.02-min(max(ratio, lo), 1.02))/(1.02-lo)
}

func axes(b *strings.Builder, lo float64) {
	for n := 1; n <= 10000; n *= 10 {
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n",
			x(n), x(n), padT, chartH-padB, x(n), chartH-padB+18, n)
	}
	step := 0.01
	for (1-lo)/step > 10 {
		step *= 2
	}
	for v := 1.0; v >= lo-1e-9; v -= step {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.2f</text>`+"\n",
			padL, chartW-padR, y(v, lo), y(v, lo), padL-6, y(v, lo)+4, v)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">threads in all</text>`+"\n", (padL+chartW-padR)/2, chartH-10)
}

// colors tell lines apart; the palette is Okabe and Ito's, for colour-blind readers.
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

func draw(b *strings.Builder, s series, i int, lo float64) {
	c := colors[i%len(colors)]
	var points []string
	for _, r := range s.rows {
		points = append(points, fmt.Sprintf("%.1f,%.1f", x(r.Threads), y(r.Ratio, lo)))
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-opacity="0.5"/><circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n",
			x(r.Threads), x(r.Threads), y(r.Low, lo), y(r.High, lo), c, x(r.Threads), y(r.Ratio, lo), c)
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s"/>`+"\n", strings.Join(points, " "), c)
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", chartW-padR+12, padT+16+18*i, c, html.EscapeString(s.name))
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

const (
	width, left, right = 760, 280, 60
	top, step, bottom  = 44, 22, 34
)

func axis(low, high float64) (from, to, mark float64) {
	for _, mark = range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		from, to = math.Floor(low/mark)*mark, math.Ceil(high/mark)*mark
		if to-from < 8*mark {
			break
		}
	}
	return from, to, mark
}

func (c *chart) svg(all []row) (string, error) {
	var rows []row
	least, most := 1.0, 1.0
	for _, r := range all {
		if c.rows(r) {
			rows = append(rows, r)
			least, most = min(least, r.low), max(most, r.high)
		}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("%s: no row of the tables is of this chart", c.file)
	}
	slices.SortStableFunc(rows, c.order)
	low, high, mark := axis(least, most)
	x := func(v float64) float64 { return left + (v-low)/(high-low)*(width-left-right) }
	height := top + step*len(rows) + bottom
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `, width, height)
	b.WriteString(`font-family="sans-serif" font-size="12">` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="12" y="22" font-size="14">%s</text>`+"\n", html.EscapeString(c.title))
	for v := low; v < high+mark/2; v += mark {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/>`, x(v), x(v), top-8, height-bottom+4)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.2f</text>`+"\n", x(v), height-bottom+20, v)
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" `, x(1), x(1), top-8, height-bottom+4)
	b.WriteString(`stroke="#666" stroke-dasharray="4 3"/>` + "\n")
	for i, r := range rows {
		y, color := top+step*i+8, "#0072b2"
		if r.tool != "prywalk" {
			color = "#999"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-12, y+4, html.EscapeString(c.label(r)))
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" `, x(r.low), x(r.high), y, y)
		fmt.Fprintf(&b, `stroke="%s" stroke-width="2"/>`, color)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="4" fill="%s"/>`, x(r.ratio), y, color)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%.3f</text>`+"\n", width-right+12, y+4, r.ratio)
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

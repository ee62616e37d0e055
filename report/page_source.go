// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/sourcelines"
)

// The page's source text has at most 8 million columns, which are as many bytes in ASCII.
const (
	maxSourceFunctions = 400 // those with most time
	maxSourceLines     = 150 // of a function, from its first
	maxSourceWidth     = 130 // columns
	sourceMargin       = 3   // lines around one with time
)

// pageSource has the text around a function's lines with time, or says why its file cannot be read.
type pageSource struct {
	Frame int32  `json:"frame"`
	Lines []int  `json:"lines"` // number, text
	Why   string `json:"why,omitempty"`
}

// writeLines divides the nodes' frames with lines into functions and lines, and adds these functions' text.
func (b *pageBuilder) writeLines() {
	if b.lines == nil {
		return
	}
	places, wanted, weights := b.data.Places(), map[int32]map[int]bool{}, map[int32]int64{}
	for i := 1; i < len(b.tree.Nodes); i++ {
		weights[b.functionOf[b.tree.Nodes[i].Frame]] += b.magnitudes[i*len(b.data.Profile.SampleType)+b.page.Value]
	}
	for at := 1; at < len(b.page.Nodes); at += 2 {
		l, f, line := &b.lines.Frames[b.page.Nodes[at]], b.functionOf[b.page.Nodes[at]], 0
		if place := places[f]; l.File == place.File && l.File != "" && l.Line > 0 { // not of a namesake
			if line = l.Line; wanted[f] == nil {
				wanted[f] = map[int]bool{max(1, place.Line): true}
			}
			for n := range 2*sourceMargin + 1 {
				wanted[f][max(1, line-sourceMargin+n)] = true // also of a line number at the end of int
			}
		}
		b.page.Nodes[at], b.page.Lines = f, append(b.page.Lines, line)
	}
	functions := slices.SortedFunc(maps.Keys(wanted), func(x, y int32) int {
		return cmp.Or(cmp.Compare(weights[y], weights[x]), cmp.Compare(x, y))
	})
	functions = functions[:min(len(functions), maxSourceFunctions)]
	slices.SortStableFunc(functions, func(x, y int32) int { return cmp.Compare(places[x].File, places[y].File) })
	var text []string
	var err error
	files, read := sourcelines.Files{Dir: b.data.Options.SourceDir}, ""
	for _, f := range functions {
		if file := places[f].File; file != read {
			text, err = files.Read(file)
			read = file
		}
		if !errors.Is(err, os.ErrNotExist) {
			b.addSource(f, slices.Sorted(maps.Keys(wanted[f])), text, err)
		}
	}
}

func (b *pageBuilder) addSource(frame int32, lines []int, text []string, err error) {
	s := pageSource{Frame: frame, Lines: []int{}}
	if err != nil {
		s.Why = printable.Line(err.Error())
	}
	for _, n := range lines[:min(len(lines), maxSourceLines)] {
		if n <= len(text) {
			line := text[n-1][:min(len(text[n-1]), 8*maxSourceWidth)] // a minified file is one line
			line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \r")
			s.Lines = append(s.Lines, n, b.stringIndex(tabular.Cut(printable.String(line), maxSourceWidth)))
		}
	}
	b.page.Sources = append(b.page.Sources, s)
}

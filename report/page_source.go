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
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// Bounds of the page's source text: 200 functions of 200 lines of 200 bytes are 8 MB at most, and seldom 500 kB.
const (
	maxSourceFiles     = 1000 // that are searched, those of the functions with most time
	maxSourceFunctions = 200
	maxSourceLines     = 200 // of a function, from its first
	maxSourceWidth     = 200 // columns of a line
	sourceMargin       = 3   // lines around one with time
	pageLineCost       = 160
)

// pageSource has the text around a function's lines with time, or says why its file cannot be read.
type pageSource struct {
	Frame int32  `json:"frame"`
	Lines []int  `json:"lines"` // number, text
	Why   string `json:"why,omitempty"`
}

// pageLine is a frame at a line. With [view.Options.SourceDir] the frames of pageBuilder.tree are numbers of these.
type pageLine struct {
	frame int32
	view.Place
}

func (b *pageBuilder) lined(frame int32, at view.Place) int32 {
	if b.Options.SourceDir == "" {
		return frame
	}
	l := pageLine{frame, at}
	if _, ok := b.lineAt[l]; !ok {
		b.Memory.Take(pageLineCost)
	}
	return rec.NumberIn(&b.lines, b.lineAt, l)
}

// writeLines divides the nodes' numbers into frames and lines, and adds the text of these lines' functions.
func (b *pageBuilder) writeLines() {
	if b.Options.SourceDir == "" {
		return
	}
	places, used := b.Places(), map[int32]map[int]bool{}
	for at := 1; at < len(b.Nodes); at += 2 {
		l := &b.lines[b.Nodes[at]]
		line := l.Line
		if l.File != places[l.frame].File { // of a namesake
			line = 0
		}
		b.Nodes[at], b.Lines = l.frame, append(b.Lines, line)
		if line > 0 && used[l.frame] == nil {
			used[l.frame] = map[int]bool{max(1, places[l.frame].Line): true}
		}
		for n := max(1, line-sourceMargin); line > 0 && n <= line+sourceMargin; n++ {
			used[l.frame][n] = true
		}
	}
	b.writeSources(used, places)
}

// writeSources begins with the file of the function that has most time.
func (b *pageBuilder) writeSources(used map[int32]map[int]bool, places map[int32]view.Place) {
	weights, types := map[int32]int64{}, len(b.Profile.SampleType)
	for i := 1; i < len(b.tree.Nodes); i++ {
		weights[b.lines[b.tree.Nodes[i].Frame].frame] += b.magnitudes[i*types+b.Value]
	}
	var files []string
	functions := map[string][]int32{}
	for _, f := range slices.SortedFunc(maps.Keys(used), func(x, y int32) int {
		return cmp.Or(cmp.Compare(weights[y], weights[x]), cmp.Compare(x, y))
	}) {
		file := places[f].File
		if functions[file] == nil {
			files = append(files, file)
		}
		functions[file] = append(functions[file], f)
	}
	reader := &sourcelines.Files{Dir: b.Options.SourceDir}
	for _, file := range files[:min(len(files), maxSourceFiles)] {
		text, err := reader.Read(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		for _, f := range functions[file] {
			if len(b.Sources) == maxSourceFunctions || b.Memory.Err() != nil {
				return
			}
			b.addSource(f, slices.Sorted(maps.Keys(used[f])), text, err)
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
			line := strings.TrimRight(strings.ReplaceAll(text[n-1], "\t", "    "), " \r")
			s.Lines = append(s.Lines, n, b.stringIndex(tabular.Cut(printable.String(line), maxSourceWidth)))
		}
	}
	b.Sources = append(b.Sources, s)
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/view"
)

// Folded writes a line per distinct stack: process, thread and frames from the outermost, separated by semicolons, a
// space, and the value in the profile's unit. Missing names are left out.
func Folded(w io.Writer, p *profile.Profile, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		sums := d.foldedSums(d.ValueIndex, d.ValueIndex)
		for _, l := range slices.Sorted(maps.Keys(sums)) {
			out.Printf("%s %d\n", l, sums[l][0])
		}
		return nil
	})
}

const foldedCost = 128

// foldedSums sums two types of values by the lines of stacks.
func (d *data) foldedSums(first, second int) map[string][2]int64 {
	sums := map[string][2]int64{}
	var line []byte
	for _, s := range d.Profile.Sample {
		if s.Value[first] == 0 && s.Value[second] == 0 {
			continue
		}
		line = d.fold(line[:0], s)
		v, ok := sums[string(line)]
		if !ok && !d.Take(int64(len(line))+foldedCost) {
			break
		}
		sums[string(line)] = [2]int64{v[0] + s.Value[first], v[1] + s.Value[second]}
	}
	return sums
}

func (d *data) fold(line []byte, s *profile.Sample) []byte {
	for _, key := range []string{rec.LabelComm, rec.LabelThread} {
		if name := view.Label(s, key); name != "" {
			line = append(append(line, foldName(name)...), ';')
		}
	}
	for _, f := range slices.Backward(d.Stack(s)) {
		name := foldName(d.Frames[f].Label())
		if need := len(line) + len(name) + 1; need > cap(line) && !d.Take(2*int64(need)) {
			break
		}
		line = append(append(line, name...), ';')
	}
	return line[:max(0, len(line)-1)]
}

func foldName(s string) string { return strings.ReplaceAll(printable.String(s), ";", ":") }

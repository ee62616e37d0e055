// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/export"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// Firefox writes the profile for profiler.firefox.com ([export.Firefox]).
func Firefox(w io.Writer, p *profile.Profile, o Options) error { return export.Firefox(w, p, o) }

// Speedscope writes the profile for speedscope.app ([export.Speedscope]).
func Speedscope(w io.Writer, p *profile.Profile, o Options) error { return export.Speedscope(w, p, o) }

// Perfetto writes a trace for ui.perfetto.dev ([export.Perfetto]).
func Perfetto(w io.Writer, p *profile.Profile, o Options) error { return export.Perfetto(w, p, o) }

// OTLP writes the profile as OpenTelemetry's ProfilesData ([export.OTLP]).
func OTLP(w io.Writer, p *profile.Profile, o Options) error { return export.OTLP(w, p, o) }

// PGO writes the profile for `go build -pgo` ([export.PGO]).
func PGO(w io.Writer, p *profile.Profile, o Options) error { return export.PGO(w, p, o) }

// Folded writes a line per distinct stack: process, thread and frames from the outermost, separated by semicolons, a
// space, and the value in the profile's unit. Missing names are left out.
func Folded(w io.Writer, p *profile.Profile, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		d.writeFolded(out, d.ValueIndex)
		return nil
	})
}

// Folded writes a line per stack with old and new value, for differential flame graphs.
func (d *Difference) Folded(w io.Writer) error {
	joined := d.joinedData()
	return joined.Write(w, func(to io.Writer) error {
		out := printable.NewWriter(to)
		joined.writeFolded(out, 1, 0) // old, new ([view.Join])
		return out.Err()
	})
}

func (d *data) writeFolded(out *printable.Writer, types ...int) {
	sums := d.foldedSums(types)
	for _, l := range slices.Sorted(maps.Keys(sums)) {
		line := l // written whole, in case of a limit or a failure
		for _, v := range sums[l] {
			line += " " + strconv.FormatInt(v, 10)
		}
		out.Printf("%s\n", line)
	}
}

const foldedCost = 128

func (d *data) foldedSums(types []int) map[string][]int64 {
	sums := map[string][]int64{}
	var line []byte
	for _, s := range d.Profile.Sample {
		if !slices.ContainsFunc(types, func(t int) bool { return s.Value[t] != 0 }) {
			continue
		}
		line = d.fold(line[:0], s)
		sum := sums[string(line)]
		if sum == nil {
			if !d.Memory.Take(int64(len(line)) + foldedCost) {
				break
			}
			sum = make([]int64, len(types))
			sums[string(line)] = sum
		}
		for i, t := range types {
			sum[i] += s.Value[t]
		}
	}
	return sums
}

func (d *data) fold(line []byte, s *profile.Sample) []byte {
	for _, key := range []string{rec.LabelComm, rec.LabelThread} {
		if name := view.Label(s, key); name != "" {
			line = append(append(line, foldName(name)...), ';')
		}
	}
	for _, f := range slices.Backward(d.Table.Stack(s)) {
		name := foldName(d.Table.Frames[f].Label())
		if need := len(line) + len(name) + 1; need > cap(line) && !d.Memory.Take(2*int64(need)) {
			break
		}
		line = append(append(line, name...), ';')
	}
	return line[:max(0, len(line)-1)]
}

func foldName(s string) string { return strings.ReplaceAll(printable.String(s), ";", ":") }

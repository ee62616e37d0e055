// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// runs is the number of values in the baseline, and of measurements before a count counts as risen.
const runs = 12

type baseline map[string][]float64

func (b baseline) add(v values) {
	for name, n := range v {
		b[name] = append(b[name], n)
		slices.Sort(b[name])
	}
}

func (b baseline) limit(name string) (float64, bool) {
	all := b[name]
	if len(all) == 0 {
		return 0, false
	}
	low, high := all[0], all[len(all)-1]
	return high + (high - low), true
}

func (b baseline) risen(v values) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		limit, ok := b.limit(name)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: %.2f, and the baseline has none", name, v[name]))
		case v[name] > limit:
			all := b[name]
			out = append(out, fmt.Sprintf("%s: %.2f, but the baseline is %.2f to %.2f", name, v[name], all[0], all[len(all)-1]))
		}
	}
	return out
}

func readBaseline(path string) (baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := baseline{}
	return b, json.Unmarshal(text, &b)
}

func (b baseline) write(path string) error {
	out := []byte("{\n")
	for i, name := range slices.Sorted(maps.Keys(b)) {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		rounded := make([]float64, len(b[name]))
		for i, n := range b[name] {
			rounded[i] = float64(int64(n*100+0.5)) / 100
		}
		line, err := json.Marshal(rounded)
		if err != nil {
			return err
		}
		out = fmt.Appendf(out, "  %q: %s", name, line)
	}
	return os.WriteFile(path, append(out, "\n}\n"...), 0o644)
}

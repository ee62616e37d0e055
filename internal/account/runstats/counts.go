// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/sample"
	"prywalk/internal/base/tabular"
)

// Plural is a count with its noun.
func Plural(n int64, what string) string { return fmt.Sprintf("%d %s", n, tabular.Noun(n, what)) }

// Sum adds counts.
func Sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// Reasons lists counts in parentheses, largest first.
func Reasons(m map[string]int64) string {
	if len(m) == 0 {
		return ""
	}
	names := byFrequency(m)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, m[n])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func byFrequency(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}

// Percent is "100%" for the whole only.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", float64(sample.Portion(part, 1000, whole))/10) // part × 1000 may overflow
}

func percentage(v float64) string { return strconv.FormatFloat(100*v, 'g', -1, 64) + "%" }

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/base/statistics"
)

const (
	leastShown = 0.01
	mostShown  = 10
)

func compare(program string, runs map[string][]run) {
	for _, list := range runs {
		for i := range list {
			list[i].rename()
		}
	}
	reference := runs["perf record"]
	names := map[string]float64{}
	for i := range reference {
		for name, v := range reference[i].shares {
			names[name] += v / float64(len(reference))
		}
	}
	top := make([]string, 0, len(names))
	for name, v := range names {
		if v >= leastShown && name != "?" {
			top = append(top, name)
		}
	}
	slices.SortFunc(top, func(a, b string) int { return cmp.Or(cmp.Compare(names[b], names[a]), cmp.Compare(a, b)) })
	for _, name := range top[:min(mostShown, len(top))] {
		of := func(r *run) float64 { return r.shares[name] }
		fmt.Printf("| %s | %s | %s | %s | %s |\n", program, name, apart(runs["perf"], reference, of),
			apart(runs["ptrace"], reference, of), spread(reference, of))
		program = ""
	}
	named := func(r *run) float64 { return r.named }
	fmt.Printf("| %s | *with a function* | %s | %s | %s |\n", program, spread(runs["perf"], named),
		spread(runs["ptrace"], named), spread(reference, named))
}

func apart(runs, reference []run, of func(*run) float64) string {
	if len(runs) == 0 || len(reference) == 0 {
		return ""
	}
	a, va := meanOf(runs, reference, of)
	b, vb := meanOf(reference, reference, of)
	t := math.Inf(1)
	if freedom := 2 * (min(len(runs), len(reference)) - 1); freedom > 0 {
		t = statistics.StudentBound(0.05, freedom)
	}
	return fmt.Sprintf("%.1f: %+.1f ± %.1f", 100*a, 100*(a-b), 100*t*math.Sqrt(va+vb))
}

// meanOf's variance is at least that of as many independent samples as the reference has: three recordings may agree by
// chance.
func meanOf(runs, reference []run, of func(*run) float64) (mean, variance float64) {
	samples := 0.0
	for i := range reference {
		samples += reference[i].samples
	}
	n := float64(len(runs))
	for i := range runs {
		mean += of(&runs[i]) / n
	}
	for i := range runs {
		variance += (of(&runs[i]) - mean) * (of(&runs[i]) - mean)
	}
	variance /= max(n-1, 1) * n
	return mean, max(variance, mean*(1-mean)/max(samples*n/float64(len(reference)), 1))
}

var aliases = regexp.MustCompile(`^(_|GI_|libc_|new_)+`)

func (r *run) rename() {
	shares := map[string]float64{}
	for name, v := range r.shares {
		shares[plainName(name)] += v
	}
	r.shares = shares
}

func plainName(name string) string {
	if strings.HasSuffix(name, ")") && !strings.HasPrefix(name, "(") {
		name, _, _ = strings.Cut(name, "(")
	}
	if at := strings.IndexByte(name, '<'); at > 0 {
		name = name[:at]
	}
	if fields := strings.Fields(name); len(fields) > 1 && !strings.HasPrefix(name, "[") {
		name = fields[len(fields)-1]
	}
	if at := strings.LastIndexByte(name, '/'); at >= 0 && !strings.HasPrefix(name, "[") {
		name = name[at+1:]
	}
	if plain := aliases.ReplaceAllString(name, ""); plain != "" {
		name = plain
	}
	return name
}

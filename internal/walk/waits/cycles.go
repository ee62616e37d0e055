// SPDX-License-Identifier: Apache-2.0

package waits

import "slices"

// Cycles returns the sorted cycles of a map of threads to those that they wait for. Each begins with its lowest ID.
func Cycles(waitsFor map[int]int) (out [][]int) {
	const onPath, done = 1, 2
	state := make(map[int]int, len(waitsFor))
	for start := range waitsFor {
		var path []int
		at := start
		for state[at] == 0 {
			next, ok := waitsFor[at]
			if !ok {
				break
			}
			state[at] = onPath
			path = append(path, at)
			at = next
		}
		if i := slices.Index(path, at); i >= 0 {
			out = append(out, fromLowest(path[i:]))
		}
		for _, tid := range path {
			state[tid] = done
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

func fromLowest(cycle []int) []int {
	i := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[i:], cycle[:i])
}

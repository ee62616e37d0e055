// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/show/dump/stacks"
)

// numberedName stands for threads whose names differ at most in one number.
type numberedName struct {
	prefix, suffix string // before and after the number
	numbers        []int  // ascending, one per thread; or nil
	tids           []int
}

func groupByNumberedName(threads []*stacks.Thread) []*numberedName {
	var list []*numberedName
	type key struct {
		before, after string
		numbered      bool
	}
	byName := map[key]*numberedName{}
	for _, t := range threads {
		before, number, after := splitNumber(shownName(t))
		k := key{before, after, number >= 0}
		s := byName[k]
		if s == nil {
			s = &numberedName{prefix: before, suffix: after}
			byName[k] = s
			list = append(list, s)
		}
		s.tids = append(s.tids, t.TID)
		if number >= 0 {
			s.numbers = append(s.numbers, number)
		}
	}
	for _, s := range list {
		slices.Sort(s.numbers)
	}
	slices.SortStableFunc(list, func(a, b *numberedName) int { return cmp.Compare(len(b.tids), len(a.tids)) })
	return list
}

// maxDigits bounds a number; longer ones are identifiers.
const maxDigits = 9

func splitNumber(name string) (before string, number int, after string) {
	end := strings.LastIndexFunc(name, isDigit) + 1
	begin := len(strings.TrimRightFunc(name[:end], isDigit))
	if end == 0 || end-begin > maxDigits || name[begin] == '0' && end-begin > 1 {
		return name, -1, ""
	}
	number, err := strconv.Atoi(name[begin:end])
	if err != nil {
		return name, -1, ""
	}
	return name[:begin], number, name[end:]
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

const maxListed = 6

// String returns "worker-1…480 (480): 1001…1480", or all IDs if few.
func (n *numberedName) String() string {
	name := n.prefix + n.suffix
	if count := len(n.numbers); count > 0 {
		first, last := n.numbers[0], n.numbers[count-1]
		name = n.prefix + strconv.Itoa(first) + n.suffix
		if first != last {
			name = fmt.Sprintf("%s%d…%d%s", n.prefix, first, last, n.suffix)
		}
	}
	if len(n.tids) > maxListed {
		return fmt.Sprintf("%s (%d): %d…%d", name, len(n.tids), slices.Min(n.tids), slices.Max(n.tids))
	}
	text := name
	if len(n.tids) > 1 {
		text += fmt.Sprintf(" (%d)", len(n.tids))
	}
	var tids []string
	for _, tid := range n.tids {
		tids = append(tids, strconv.Itoa(tid))
	}
	return text + ": " + strings.Join(tids, " ")
}

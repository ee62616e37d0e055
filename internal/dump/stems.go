// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const noName = "(no name)"

func (t *Thread) shownName() string {
	if strings.TrimSpace(t.Name) == "" {
		return noName
	}
	return t.Name
}

// stem is threads whose names differ at most in one number.
type stem struct {
	before, after string // the number
	numbers       []int  // ascending, one per thread; or nil
	tids          []int
}

// stems groups threads by name without its last number, largest group first.
func stems(threads []*Thread) []*stem {
	var list []*stem
	type key struct {
		before, after string
		numbered      bool
	}
	byName := map[key]*stem{}
	for _, t := range threads {
		before, number, after := split(t.shownName())
		k := key{before, after, number >= 0}
		s := byName[k]
		if s == nil {
			s = &stem{before: before, after: after}
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
	slices.SortStableFunc(list, func(a, b *stem) int { return cmp.Compare(len(b.tids), len(a.tids)) })
	return list
}

// maxDigits bounds a number; longer ones are identifiers.
const maxDigits = 9

// split separates a name's last number; −1: none.
func split(name string) (before string, number int, after string) {
	end := strings.LastIndexFunc(name, digit) + 1
	begin := strings.LastIndexFunc(name[:end], func(r rune) bool { return !digit(r) }) + 1
	if end == 0 || end-begin > maxDigits || name[begin] == '0' && end-begin > 1 {
		return name, -1, ""
	}
	number, err := strconv.Atoi(name[begin:end])
	if err != nil {
		return name, -1, ""
	}
	return name[:begin], number, name[end:]
}

func digit(r rune) bool { return '0' <= r && r <= '9' }

const maxListed = 6 // threads

// String gives "worker-1…480 (480): 1001…1480", or all IDs if few.
func (s *stem) String() string {
	name := s.before + s.after
	if n := len(s.numbers); n > 0 {
		first, last := s.numbers[0], s.numbers[n-1]
		name = s.before + strconv.Itoa(first) + s.after
		if first != last {
			name = fmt.Sprintf("%s%d…%d%s", s.before, first, last, s.after)
		}
	}
	if len(s.tids) > maxListed {
		return fmt.Sprintf("%s (%d): %d…%d", name, len(s.tids), slices.Min(s.tids), slices.Max(s.tids))
	}
	text := name
	if len(s.tids) > 1 {
		text += fmt.Sprintf(" (%d)", len(s.tids))
	}
	var tids []string
	for _, tid := range s.tids {
		tids = append(tids, strconv.Itoa(tid))
	}
	return text + ": " + strings.Join(tids, " ")
}

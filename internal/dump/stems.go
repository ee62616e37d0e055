// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// noName stands for the name of a thread that has none.
const noName = "(no name)"

// shownName is a thread's name for people.
func (t *Thread) shownName() string {
	if strings.TrimSpace(t.Name) == "" {
		return noName
	}
	return t.Name
}

// stem is the threads whose names differ in one number, or not at all.
type stem struct {
	before, after string // the number
	numbers       []int  // as many as threads, in rising order; nil if the names have none
	tids          []int
}

// stems puts threads together by their names, without the last number in them, in the order of their first threads.
func stems(threads []*Thread) []*stem {
	var list []*stem
	byName := map[[2]string]*stem{}
	for _, t := range threads {
		before, number, after := split(t.shownName())
		s := byName[[2]string{before, after}]
		if s == nil || (number < 0) != (s.numbers == nil) {
			s = &stem{before: before, after: after}
			byName[[2]string{before, after}] = s
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

// mostDigits is how long a number in a name may be: a longer one is an identifier.
const mostDigits = 9

// split takes the last number out of a name; it is negative if there is none.
func split(name string) (before string, number int, after string) {
	end := strings.LastIndexFunc(name, digit) + 1
	begin := strings.LastIndexFunc(name[:end], func(r rune) bool { return !digit(r) }) + 1
	if end == 0 || end-begin > mostDigits || name[begin] == '0' && end-begin > 1 {
		return name, -1, ""
	}
	number, err := strconv.Atoi(name[begin:end])
	if err != nil {
		return name, -1, ""
	}
	return name[:begin], number, name[end:]
}

func digit(r rune) bool { return '0' <= r && r <= '9' }

// fewThreads is up to how many numbers of threads are listed.
const fewThreads = 6

// String is a name as worker-1…480, and the number of threads; their numbers, if they are few.
func (s *stem) String() string {
	name := s.before + s.after
	if n := len(s.numbers); n > 0 {
		first, last := s.numbers[0], s.numbers[n-1]
		name = s.before + strconv.Itoa(first) + s.after
		if first != last {
			name = fmt.Sprintf("%s%d…%d%s", s.before, first, last, s.after)
		}
	}
	if len(s.tids) > fewThreads {
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

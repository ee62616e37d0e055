// SPDX-License-Identifier: Apache-2.0

package sample

import "testing"

func TestClocksBetweenTwoReadings(t *testing.T) {
	from := Reading{Wall: 1000, CPU: 500, RunQueue: 10}
	for name, c := range map[string]struct {
		to   Reading
		at   int64
		want Reading
	}{
		"it ran all the time":     {Reading{2000, 1500, 10}, 1300, Reading{1300, 800, 10}},
		"it slept all the time":   {Reading{2000, 500, 10}, 1300, Reading{1300, 500, 10}},
		"it ran half of the time": {Reading{2000, 1000, 110}, 1500, Reading{1500, 750, 60}},
		"nearly all the time":     {Reading{2000, 1490, 10}, 1990, Reading{1990, 1480, 10}},
		"before":                  {Reading{2000, 1000, 10}, 900, Reading{1000, 500, 10}},
		"after":                   {Reading{2000, 1000, 10}, 2100, Reading{2000, 1000, 10}},
		"at once":                 {Reading{1000, 700, 10}, 1000, Reading{1000, 700, 10}},
	} {
		if got := from.Between(c.to, c.at); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzBetween(f *testing.F) {
	f.Add(int64(1), int64(2), int64(3), int64(4), int64(5))
	f.Fuzz(func(t *testing.T, wall, cpu, length, ran, at int64) {
		const most = int64(1) << 50
		wall, cpu, length, ran = wall&(most-1), cpu&(most-1), length&(most-1), ran&(most-1)
		from := Reading{Wall: wall, CPU: cpu}
		to := Reading{Wall: wall + length, CPU: cpu + min(ran, length)}
		if got := from.Between(to, at); got.Wall < from.Wall || got.Wall > to.Wall || got.CPU < from.CPU || got.CPU > to.CPU {
			t.Errorf("%+v to %+v at %d: %+v", from, to, at, got)
		}
	})
}

func TestPortionIsExactForLongTimes(t *testing.T) {
	for _, c := range [][4]int64{{1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 60, 1, 1 << 30, 1 << 30}, {7, 2, 3, 4},
		{0, 1, 1, 0}} {
		if got := Portion(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("Portion(%d, %d, %d) = %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}

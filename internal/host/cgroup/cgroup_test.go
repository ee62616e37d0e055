// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func tree(t *testing.T, files map[string]string) Root {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Root(root)
}

func TestQuotasAreThoseOfTheGroupAndItsAncestors(t *testing.T) {
	const v2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"v2, with a lower quota in an ancestor", map[string]string{
			"proc/self/cgroup": "0::/pods/side car\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/cpu.max":               "max 100000\n",
			"sys/fs/cgroup/pods/cpu.max":          "3000 50000\n",
			"sys/fs/cgroup/pods/side car/cpu.max": "20000 100000\n",
		}, []string{"/sys/fs/cgroup/pods 3 50 false", "/sys/fs/cgroup/pods/side car 20 100 true"}},
		{"v2 in a container", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/cpu.max": "5000 100000\n",
		}, []string{"/sys/fs/cgroup 5 100 true"}},
		{"v1, cpu and cpuacct in one", map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n",
			"proc/self/mountinfo": "33 31 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup " +
				"cgroup rw,cpu,cpuacct\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":     "30000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":    "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":        "77\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat":             "nr_periods 3\nnr_throttled 1\nthrottled_time 9\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.dummy": "",
		}, []string{"/sys/fs/cgroup/cpu,cpuacct 30 100 true"}},
		{"none", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/a/cpu.max": "max 100000\n",
		}, nil},
		{"v1 without a limit", map[string]string{
			"proc/self/cgroup":                   "1:cpu:/\n",
			"proc/self/mountinfo":                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, nil},
		{"no /proc", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.files)
			var got []string
			for _, l := range root.CPUQuotas() {
				got = append(got, fmt.Sprint(strings.TrimPrefix(l.Dir, string(root)), " ", l.Quota.Milliseconds(), " ",
					l.Period.Milliseconds(), " ", l.Own))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestMeterReadsBothKinds(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"v2": {"g/cpu.stat": "usage_usec 5\nuser_usec 1\nnr_periods 3\nnr_throttled 2\nthrottled_usec 7\n"},
		"v1": {"g/cpu.stat": "nr_periods 3\nnr_throttled 2\nthrottled_time 7000\n", "g/cpuacct.usage": "5000\n"},
	} {
		root := tree(t, files)
		l := CPUQuota{Dir: root.path("g")}
		if name == "v1" {
			l.acct = root.path("g/cpuacct.usage")
		}
		m, err := l.Open()
		if err != nil {
			t.Fatal(err)
		}
		if s, err := m.Read(); err != nil || s != (CPUStat{3, 2, 7000, 5000}) {
			t.Errorf("%s: statistics %+v, %v; want %+v", name, s, err, CPUStat{3, 2, 7000, 5000})
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = m.Read() }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
		m.Close()
	}
}

func TestTargetsAreThrottledByTheTightestQuotaOfTheirGroups(t *testing.T) {
	const v2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	root := tree(t, map[string]string{
		"proc/self/cgroup": "0::/me\n", "proc/self/mountinfo": v2,
		"proc/7/cgroup": "0::/pods/a\n", "proc/8/cgroup": "0::/pods/a\n", "proc/9/cgroup": "0::/free\n",
		"proc/10/cgroup": "0::/../b\n", "sys/fs/cgroup/b/cpu.max": "1000 100000\n",
		"sys/fs/cgroup/pods/cpu.stat":   "nr_periods 3\nnr_throttled 0\nthrottled_usec 0\n",
		"sys/fs/cgroup/b/cpu.stat":      "nr_periods 1\nnr_throttled 1\nthrottled_usec 1\n",
		"sys/fs/cgroup/pods/a/cpu.max":  "20000 100000\n",
		"sys/fs/cgroup/pods/cpu.max":    "50000 100000\n",
		"sys/fs/cgroup/pods/a/cpu.stat": "nr_periods 3\nnr_throttled 2\nthrottled_usec 7\n",
	})
	found, pids := root.Groups(), []int{7, 8, 9, 10, 11}
	found.Read(pids)
	if len(found.limited) != 2 || len(found.Throttled()) != 0 {
		t.Fatalf("%+v, throttled %+v; want two groups, not throttled", found.limited, found.Throttled())
	}
	stat := "nr_periods 13\nnr_throttled 10\nthrottled_usec 2500007\n"
	if err := os.WriteFile(root.path("sys/fs/cgroup/pods/a/cpu.stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	stat = "nr_periods 13\nnr_throttled 1\nthrottled_usec 500000\n"
	if err := os.WriteFile(root.path("sys/fs/cgroup/pods/cpu.stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	pod := Throttling{PID: 7, Cgroup: "/sys/fs/cgroup/pods", CPUs: 0.5, Periods: 10, ThrottledPeriods: 1, Seconds: 0.5}
	want := Throttling{PID: 7, Cgroup: "/sys/fs/cgroup/pods/a", CPUs: 0.2, Periods: 10, ThrottledPeriods: 8, Seconds: 2.5}
	found.Read(pids)
	if got := found.Throttled(); len(got) != 2 || got[0] != want || got[1] != pod {
		t.Errorf("throttled %+v, want %+v and %+v", got, want, pod)
	}
	for _, dir := range []string{"proc/7", "proc/8", "sys/fs/cgroup/pods/a"} {
		if err := os.RemoveAll(root.path(dir)); err != nil {
			t.Fatal(err)
		}
	}
	found.Read(pids)
	if got := found.Throttled(); len(got) != 1 || got[0] != pod {
		t.Errorf("throttled %+v, want %+v", got, pod)
	}
}

func TestGroupsAreThoseOfTheLastRead(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup": "0::/me\n", "proc/self/mountinfo": "35 24 0:30 / /cg rw - cgroup2 cgroup2 rw\n",
		"proc/7/cgroup": "0::/a\n", "cg/a/cgroup.events": "frozen 0\n",
		"proc/8/cgroup": "0::/b\n", "cg/b/cgroup.events": "frozen 1\n", "cg/b/cpu.max": "1000 100000\n",
		"cg/b/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_usec 1\n",
	})
	g := root.Groups()
	if got := g.Read([]int{7}); got[0] != "" || len(g.limited) != 0 {
		t.Errorf("process 7 is frozen by %q, with quotas %+v", got, g.limited)
	}
	if err := os.WriteFile(root.path("cg/a/cgroup.events"), []byte("frozen 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := g.Read([]int{7, 8}); got[0] != "/cg/a" || got[1] != "/cg/b" || len(g.limited) != 1 {
		t.Errorf("processes 7 and 8 are frozen by %q, with quotas %+v", got, g.limited)
	}
}

func TestFrozenGroupIsFound(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup": "3:freezer:/me\n0::/me\n",
		"proc/self/mountinfo": "35 24 0:30 / /cg2 rw - cgroup2 cgroup2 rw\n" +
			"36 24 0:31 / /cg1 rw - cgroup cgroup rw,freezer\n37 24 0:32 / /cpu rw - cgroup cgroup rw,cpu\n",
		"proc/7/cgroup": "3:freezer:/\n0::/pods/a\n", "cg2/pods/a/cgroup.events": "populated 1\nfrozen 1\n",
		"proc/8/cgroup": "3:freezer:/\n0::/pods/b\n", "cg2/pods/b/cgroup.events": "populated 1\nfrozen 0\n",
		"proc/9/cgroup": "3:freezer:/old\n0::/\n", "cg1/old/freezer.state": "FROZEN\n",
		"proc/10/cgroup": "3:freezer:/half\n0::/\n", "cg1/half/freezer.state": "FREEZING\n",
		"proc/11/cgroup": "0::/../pods/a\n", "proc/13/cgroup": "3:freezer:/\n0::/pods/a/web\n",
		"cg2/pods/a/web/cgroup.events": "populated 1\nfrozen 1\n", "cg2/pods/a/web/cgroup.freeze": "0\n",
		"cg2/pods/a/cgroup.freeze": "1\n",
	})
	for pid, want := range map[int]string{
		7: "/cg2/pods/a", 13: "/cg2/pods/a", 8: "", 9: "/cg1/old", 10: "", 11: "", 12: "",
	} {
		if got := root.Frozen(pid); got != want {
			t.Errorf("process %d is frozen by %q, want %q", pid, got, want)
		}
	}
}

func TestQuotaOfPrywalksContainerIsNoOthers(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup": "4:cpu:/docker/a\n", "proc/7/cgroup": "4:cpu:/docker/b\n",
		"proc/self/mountinfo":                 "33 31 0:30 /docker/a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "30000\n",
		"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu/cpu.stat":          "nr_periods 3\nnr_throttled 1\nthrottled_time 9\n",
	})
	found := root.Groups()
	if found.Read([]int{7}); len(found.limited) != 0 || len(root.CPUQuotas()) != 1 {
		t.Errorf("%+v are of process 7, want none", found.limited)
	}
}

func TestGuardNeverOverestimatesTheRestOfAQuota(t *testing.T) {
	const period, limit = 100e6, 5e6
	rng := rand.New(rand.NewPCG(1, 2))
	enough := 0
	for run := range 200 {
		most := []int{4e5, 6e4}[run%2]
		now, used, periods := time.Duration(0), time.Duration(rng.IntN(1e6)), int64(rng.IntN(5))
		next := time.Duration(rng.IntN(period))
		left := time.Duration(rng.IntN(limit))
		g := NewQuotaGuard(CPUQuota{Quota: limit, Period: period}, 1, 0, CPUStat{Periods: periods}, used)
		for range 3000 {
			now += time.Duration(rng.IntN(3e6))
			for now >= next {
				next += period
				periods++
				left = min(left, 0) + limit
			}
			if use := time.Duration(rng.IntN(most)); left > 0 {
				left, used = left-use, used+use
			}
			if rng.IntN(3) > 0 || g.ShouldQuery(used) {
				g.Update(CPUStat{Periods: periods}, used)
			}
			if got := g.Left(used); got > max(left, 0) {
				t.Fatalf("Left returns %v, want at most %v", got, left)
			}
			if run%2 == 1 && g.Left(used) >= g.MinLeft(100e3) {
				enough++
			}
		}
	}
	if enough < 100*3000/2 {
		t.Errorf("Left was enough at %d of %d times, want half of them", enough, 100*3000)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0::/a\n1:cpu,cpuacct:/b", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"nr_periods 3\nusage_usec 9223372036854775807\n")
	f.Add("", `1 2 3 \04 \040 - cgroup x cpu`, "usage_usec -1")
	f.Fuzz(func(t *testing.T, groups, mounts, stat string) {
		g := parseGroups(groups)
		for _, m := range parseMounts(mounts) {
			m.pathBelow(g.pathIn(&m))
		}
		if s := parseStat([]byte(stat)); s.Periods < 0 || s.ThrottledFor < 0 || s.Used < -1 {
			t.Errorf("a negative count in %+v", s)
		}
	})
}

func TestMemoryLimitIsTheLeastOfTheGroupAndItsAncestors(t *testing.T) {
	const (
		v2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
		v1 = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"v2, with a lower limit in an ancestor", map[string]string{
			"proc/self/cgroup": "0::/pods/side car\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/pods/memory.max":          "200\n",
			"sys/fs/cgroup/pods/side car/memory.max": "max\n",
		}, 200},
		{"v2, memory.high is lower", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "4096000\n", "sys/fs/cgroup/a/memory.high": "2048000\n",
		}, 2048000},
		{"v1", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/abc\n3:cpu:/x\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "268435456\n",
		}, 268435456},
		{"v1 without a limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		{"malformed", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "-5\n", "sys/fs/cgroup/a/memory.high": "99999999999999999999\n",
		}, 0},
		{"no /proc", nil, 0},
	} {
		if got := tree(t, c.files).Memory(); got != c.want {
			t.Errorf("%s: memory limit %d, want %d", c.name, got, c.want)
		}
	}
}

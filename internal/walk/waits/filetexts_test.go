// SPDX-License-Identifier: Apache-2.0

package waits

import "testing"

func TestFilesAsTexts(t *testing.T) {
	db, web := Peer{PID: 9, Name: "db"}, Peer{PID: 10, Name: "web"}
	many := []Peer{db, db, db, db, web, web}
	for _, c := range []struct {
		f              OpenFile
		want, otherEnd string
	}{
		{OpenFile{FD: 3}, "descriptor 3", ""},
		{OpenFile{FD: 3, Path: "/srv/a", More: "offset 7"}, "/srv/a (fd 3), offset 7", "/srv/a"},
		{OpenFile{FD: 3, Path: "pipe:[1]", Type: "pipe", State: "empty", Peers: []Peer{db, web}},
			"pipe:[1] (fd 3), empty, other end: db (pid 9), web (pid 10)", "pipe:[1] = db (pid 9), web (pid 10)"},
		{OpenFile{FD: 3, Path: "pipe:[1]", Type: "pipe", Peers: many},
			"pipe:[1] (fd 3), other end: db (pid 9), db (pid 9), db (pid 9), db (pid 9) and 2 more",
			"pipe:[1] = db (pid 9), db (pid 9), db (pid 9), db (pid 9) and 2 more"},
		{OpenFile{FD: 3, Path: "socket:[1]", Type: "socket"}, "socket:[1] (fd 3)", "socket:[1]"},
		{OpenFile{FD: 3, Path: "socket:[1]", Type: "socket", Local: "10.0.0.1:5", Remote: "10.0.0.2:80", State: "established",
			Peers: []Peer{web}}, "socket 10.0.0.1:5 to 10.0.0.2:80 established (fd 3), other end: web (pid 10)",
			"10.0.0.2:80 = web (pid 10)"},
		{OpenFile{FD: 3, Path: "socket:[1]", Type: "socket", Local: "0.0.0.0:80", State: "listen"},
			"socket 0.0.0.0:80 listen (fd 3)", "socket:[1]"},
		{OpenFile{FD: 3, Path: "anon_inode:[eventpoll]", Type: "epoll"}, "anon_inode:[eventpoll] (fd 3), watches 0",
			"anon_inode:[eventpoll]"},
		{OpenFile{FD: 3, Path: "epoll", Type: "epoll", Holds: []OpenFile{{FD: 4, Path: "/a"}, {FD: 5, Path: "/b"}}},
			"epoll (fd 3), watches 2: /a (fd 4), /b (fd 5)", "epoll"},
	} {
		if got, end := c.f.String(), c.f.OtherEnd(); got != c.want || end != c.otherEnd+Unfinished(c.f.State) {
			t.Errorf("%+v: %q, other end %q; want %q, %q", c.f, got, end, c.want, c.otherEnd)
		}
	}
}

// Of many files neither the other ends nor what they watch are listed.
func TestManyFilesHaveShortTexts(t *testing.T) {
	epoll := OpenFile{FD: 4, Path: "epoll", Type: "epoll", Holds: []OpenFile{{FD: 5, Path: "/b"}}}
	pipe := OpenFile{FD: 6, Path: "pipe:[1]", Type: "pipe", State: "full", More: "more",
		Peers: []Peer{{PID: 9, Name: "db"}}}
	socket := OpenFile{FD: 7, Path: "socket:[1]", Type: "socket", Local: "a:1", Remote: "b:2", State: "established"}
	files := []OpenFile{epoll, pipe, socket}
	const want = "epoll (fd 4), pipe:[1] (fd 6), full, socket a:1 to b:2 established (fd 7)"
	long := make([]OpenFile, maxShown+1)
	for i := range long {
		long[i] = OpenFile{FD: FileNumber(i)}
	}
	if got := listOf(long); got != "descriptor 0, descriptor 1, descriptor 2, descriptor 3, …" {
		t.Errorf("%q", got)
	}
	if got := listOf([]OpenFile{epoll}); got != "epoll (fd 4), watches 1: /b (fd 5)" {
		t.Errorf("%q", got)
	}
	if got := listOf(files); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

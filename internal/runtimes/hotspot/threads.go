package hotspot

var wantThreads = [][]string{}

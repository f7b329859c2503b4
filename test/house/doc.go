// Command house measures this project, so that a change shows which part of it grows.
//
//	go run ./house weigh    the size of each room, and its share of wordy comments
//	go run ./house stops    the functions that run for one tick, one acquisition, one order
//
// A room is a folder of depth two, such as lock/redislock, with all folders below it. The tests of this package compare
// the exported names of the library with testdata/names.golden, and limit the wordy lines of each room.
// Nothing is written but with the flag -update of the tests.
package main

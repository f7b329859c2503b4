/* A clock for redis-server that a test can move: as many nanoseconds ahead of the
   system's as the file in SKEW_FILE says, 8 bytes, changed while the server runs.
   CLOCK_MONOTONIC is left alone, as a step of the wall clock leaves it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *ahead;

__attribute__((constructor)) static void attach(void) {
	const char *name = getenv("SKEW_FILE");
	int file = name ? open(name, O_RDONLY) : -1;
	void *at = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
	ahead = at == MAP_FAILED ? 0 : at;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int failed = syscall(SYS_clock_gettime, clock, t);
	if (!failed && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		long long ns = t->tv_sec * 1000000000LL + t->tv_nsec + *ahead;
		t->tv_sec = ns / 1000000000LL;
		t->tv_nsec = ns % 1000000000LL;
	}
	return failed;
}

int gettimeofday(struct timeval *t, void *zone) {
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}

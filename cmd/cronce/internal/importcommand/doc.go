// Package importcommand has the commands import crontab and import k8s: they write a configuration of
// cronce from a crontab or from CronJobs of Kubernetes. They run nothing, and connect to nothing.
package importcommand

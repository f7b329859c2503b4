// Package importcommand has the commands import crontab and import k8s, which write a configuration
// of cronce from a crontab or from CronJobs of Kubernetes. They run no job and open no connection.
package importcommand

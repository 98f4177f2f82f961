"""Many processes prepare files at once (`preparing.Prepare`): some of this machine, or those of a Ray cluster.

readers.py  this process: starts some beside it, hands them files, yields what comes back in the order of the files
reader.py   one of them

On the way of a file to a cluster:

over.py     this process: starts a driver, hands it the files, yields what comes back
driver.py   a process of its own that talks to Ray, which never enters the caller's
filling.py  the files as a Ray Dataset
stages.py   what Ray's workers are given to do
attempts.py which of it they have tried too often
deliver.py  how they do it, by the functions of `preparing.py`
order.py    what travels between all of these
"""
